"""NumPy's .npz archives with the arrays inputs and labels, or X and y as scikit-learn calls them.

Optional: class_names; clean_labels; weights; labels_NAME, other labels of the same examples, which
label_sets has under NAME; test_inputs and test_labels (X_test, y_test) with test_clean_labels.
"""

import ast
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import canonical_inputs
from noiselimit.data.examples import DataSet, fill_labels, make_examples, without_labels
from noiselimit.data.reading import Reading, require_modest
from noiselimit.errors import InputError
from noiselimit.files import open_regular

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 10_000  # NumPy's own bound: longer texts can exhaust Python's parser
PIECE = 2**20
KINDS = "biufcmMSU"  # neither Python objects nor records
PYTHON_2 = re.compile(r"(?<=\d)L\b")  # it wrote whole numbers as 60L


class NotAnArrayError(ValueError):
    """What is wrong with an array, to stand in brackets."""


def read_npy(stream: IO[bytes], size: int) -> npt.NDArray[Any]:
    """The array in a stream of `size` bytes; bytes behind it do not count."""
    dtype, shape, column_major, start = _read_header(stream, size)
    declared = dtype.itemsize * math.prod(shape)
    if declared > size - start:
        raise NotAnArrayError(f"its header declares {declared:,} bytes but {size - start:,} follow")
    values = np.empty(declared, np.uint8)
    done = 0
    while done < declared:  # in pieces, since a member of an archive copies what it hands out
        piece = stream.read(min(PIECE, declared - done))
        if not piece:
            raise NotAnArrayError("it is cut off before its end")
        values[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
        done += len(piece)
    try:
        array: npt.NDArray[Any] = np.ndarray(shape, dtype, values.data, order="F" if column_major else "C")
    except (ValueError, TypeError):  # an empty array whose other sides no machine can count
        raise NotAnArrayError(f"its shape {shape} is not possible") from None
    return _meant(array)


def _read_header(stream: IO[bytes], size: int) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    """(type, shape, whether columns come first, where the values begin)."""
    start = stream.read(8)
    if len(start) < 8 or start[:6] != MAGIC or start[6] not in (1, 2, 3):
        raise NotAnArrayError("it is no NumPy array")
    field = "<H" if start[6] == 1 else "<I"
    written = stream.read(struct.calcsize(field))
    length = struct.unpack(field, written)[0] if len(written) == struct.calcsize(field) else size
    if length > min(LONGEST_HEADER, size):
        raise NotAnArrayError("its header is damaged")
    text = stream.read(length)
    try:
        header = ast.literal_eval(
            PYTHON_2.sub("", text.decode("utf-8" if start[6] == 3 else "latin-1")).strip()
        )
        shape, column_major = header["shape"], header["fortran_order"]
        dtype = np.lib.format.descr_to_dtype(header["descr"])
    except (ValueError, TypeError, KeyError, SyntaxError, RecursionError, MemoryError, OverflowError):
        raise NotAnArrayError("its header is damaged") from None
    if dtype.hasobject:
        raise NotAnArrayError("it holds Python objects")
    if dtype.kind not in KINDS or dtype.subdtype is not None:
        raise NotAnArrayError(f"its type is {dtype}")
    if (
        not isinstance(shape, tuple)
        or not all(type(side) is int and 0 <= side < 2**63 for side in shape)
        or len(shape) > 32
        or type(column_major) is not bool
    ):
        raise NotAnArrayError("its header is damaged")
    return dtype, shape, column_major, len(start) + len(written) + len(text)


def _meant(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array without values that its type cannot have."""
    if array.dtype.kind == "b":
        return np.asarray(array.view(np.uint8) != 0)
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        letters = np.frombuffer(array.tobytes(), array.dtype.byteorder.replace("|", "=") + "u4")
        if letters.max() > 0x10FFFF:
            raise NotAnArrayError("it holds text that is no Unicode")
    return array


INPUTS = ("inputs", "X")
LABELS = ("labels", "y")
TEST_INPUTS = ("test_inputs", "X_test")
TEST_LABELS = ("test_labels", "y_test")
LABEL_SET = "labels_"

# What NumPy, zipfile and zlib raise on files that are damaged, encrypted or hold Python objects.
UNREADABLE = (OSError, ValueError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)


def read_npz(path: Path, reading: Reading = Reading()) -> DataSet:  # noqa: B008 - frozen
    """The data set in an archive; only inputs and labels are required."""
    with _open(path) as archive:
        names, inputs = archive.find("class_names"), archive.require(*INPUTS)
        labels, missing = archive.require(*LABELS), None
        if reading.keep_unlabelled:
            labels, missing = fill_labels(labels, str(path))
        examples = make_examples(
            inputs,
            labels,
            class_names=None if names is None else names.ravel().tolist(),
            clean_labels=archive.find("clean_labels"),
            weights=archive.find("weights"),
            label_sets=archive.label_sets(),
            source=str(path),
        )
        if missing is not None:
            examples = without_labels(examples, missing)
        if not archive.has(*TEST_INPUTS, *TEST_LABELS):
            return DataSet(path.stem, examples)
        test = make_examples(
            archive.require(*TEST_INPUTS),
            archive.require(*TEST_LABELS),
            class_names=examples.class_names,
            clean_labels=archive.find("test_clean_labels"),
            source=f"{path} (test part)",
            may_lack_classes=True,
        )
        return DataSet(path.stem, examples, test)


def read_npz_inputs(path: Path, *, test: bool = False) -> npt.NDArray[Any]:
    """The inputs alone, or those of the test part, in canonical form: what a prediction needs."""
    with _open(path) as archive:
        return canonical_inputs(archive.require(*(TEST_INPUTS if test else INPUTS)), str(path))


@dataclass(frozen=True, eq=False)
class _Archive:
    """An open archive whose arrays are read when asked for, each under the first of its names."""

    path: Path
    file: zipfile.ZipFile
    members: Mapping[str, zipfile.ZipInfo]
    """By the names of their arrays."""

    def has(self, *names: str) -> bool:
        return any(name in self.members for name in names)

    def find(self, *names: str) -> npt.NDArray[Any] | None:
        return self.require(*names) if self.has(*names) else None

    def label_sets(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays labels_NAME by their NAME."""
        named = [name for name in self.members if name.startswith(LABEL_SET) and name != LABEL_SET]
        return {name.removeprefix(LABEL_SET): self.require(name) for name in named}

    def require(self, *names: str) -> npt.NDArray[Any]:
        name = next((name for name in names if self.has(name)), None)
        if name is None:
            present = ", ".join(self.members) or "nothing"
            raise InputError(
                f"{self.path}: there is no array '{names[0]}' (or '{names[-1]}') but {present}; "
                "rename the arrays."
            )
        try:
            return read_member(self.file, self.members[name])
        except UNREADABLE as error:
            raise InputError(
                f"{self.path}: array '{name}' cannot be read ({_reason(error)}); "
                "save plain numbers or strings with numpy.savez."
            ) from None


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo | str) -> npt.NDArray[Any]:
    """The array that is a member of the archive."""
    info = archive.getinfo(member) if isinstance(member, str) else member
    with archive.open(info) as content:
        return read_npy(content, info.file_size)


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an archive."""
    with _open(path) as archive:
        return {name: archive.require(name) for name in archive.members}


@contextmanager
def _open(path: Path) -> Iterator[_Archive]:
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(open_regular(path))
            is_array = stream.read(len(MAGIC)) == MAGIC
            file = None if is_array else stack.enter_context(zipfile.ZipFile(stream))
            members = [] if file is None else file.infolist()
        except UNREADABLE as error:
            raise InputError(
                f"{path}: cannot be read as a NumPy archive ({_reason(error)}); write one with numpy.savez."
            ) from None
        if file is None:
            raise InputError(
                f"{path}: this is a single array; put inputs and labels in one file with numpy.savez."
            )
        require_modest(path, sum(info.file_size for info in members))
        yield _Archive(path, file, {info.filename.removesuffix(".npy"): info for info in members})


def _reason(error: BaseException) -> str:
    """The first line of the message, to stand inside a sentence of ours."""
    text = error.strerror if isinstance(error, OSError) else str(error)
    return (text or type(error).__name__).splitlines()[0].rstrip(".")
