"""NumPy's .npz archives with the arrays inputs and labels, or X and y.

Optional arrays: class_names; clean_labels; weights; labels_NAME, further labels of the same examples, which
become the label set NAME; test_inputs and test_labels (or X_test and y_test) with test_clean_labels.
"""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import canonical_inputs
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.reading import Reading, require_modest
from noiselimit.errors import InputError

INPUTS = ("inputs", "X")
LABELS = ("labels", "y")
TEST_INPUTS = ("test_inputs", "X_test")
TEST_LABELS = ("test_labels", "y_test")
LABEL_SET = "labels_"


def read_npz(path: Path, reading: Reading = Reading()) -> DataSet:  # noqa: B008 - frozen
    """The data set in an archive; only inputs and labels are required."""
    with _open(path) as archive:
        names = archive.find("class_names")
        examples = make_examples(
            archive.require(*INPUTS),
            archive.require(*LABELS),
            class_names=None if names is None else names.ravel().tolist(),
            clean_labels=archive.find("clean_labels"),
            weights=archive.find("weights"),
            label_sets=archive.label_sets(),
            source=str(path),
            keep_unlabelled=reading.keep_unlabelled,
        )
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
    """Only the inputs, or those of the test part, in canonical form: what a prediction needs."""
    with _open(path) as archive:
        return canonical_inputs(archive.require(*(TEST_INPUTS if test else INPUTS)), str(path))


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an archive by name."""
    with _open(path) as archive:
        return {name: archive.require(name) for name in archive.members}


def read_npy(file: IO[bytes]) -> npt.NDArray[Any]:
    """The array in an open .npy file; raises ValueError if it is damaged or holds Python objects."""
    try:
        array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        if array.dtype.kind == "U":
            array.tolist()  # raises for text that is not Unicode
        return array
    except Exception as error:  # NumPy and zipfile raise nearly anything on damaged files
        raise ValueError(_reason(error)) from None


@dataclass(frozen=True, eq=False)
class _Archive:
    """An open archive. Each array is read on request, under the first of its names that is there."""

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
        names = [name for name in self.members if name.startswith(LABEL_SET) and name != LABEL_SET]
        return {name.removeprefix(LABEL_SET): self.require(name) for name in names}

    def require(self, *names: str) -> npt.NDArray[Any]:
        name = next((name for name in names if self.has(name)), None)
        if name is None:
            found = ", ".join(self.members) or "nothing"
            raise InputError(f"{self.path}: no array '{names[0]}' or '{names[-1]}' in {found}; rename one.")
        try:
            with self.file.open(self.members[name]) as member:
                return read_npy(member)
        except Exception as error:
            problem = f"array '{name}' cannot be read ({_reason(error)})"
            raise InputError(f"{self.path}: {problem}; save numbers or text with numpy.savez.") from None


@contextmanager
def _open(path: Path) -> Iterator[_Archive]:
    try:
        file = zipfile.ZipFile(path)
    except Exception as error:
        raise InputError(f"{path}: cannot be read ({_reason(error)}); write it with numpy.savez.") from None
    with file:
        members = file.infolist()
        require_modest(path, sum(info.file_size for info in members))
        yield _Archive(path, file, {info.filename.removesuffix(".npy"): info for info in members})


def _reason(error: Exception) -> str:
    """The first line of the message, to quote inside a sentence."""
    text = error.strerror if isinstance(error, OSError) else str(error)
    return (text or type(error).__name__).splitlines()[0].rstrip(".")
