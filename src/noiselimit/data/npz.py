"""NumPy's .npz archives with the arrays inputs and labels, or X and y.

Optional arrays: class_names; clean_labels; weights; labels_NAME, further labels of the same examples, which
become the label set NAME; test_inputs and test_labels (or X_test and y_test) with test_clean_labels.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib.npyio import NpzFile

from noiselimit.data.arrays import canonical_inputs
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.memory import encode_gaps
from noiselimit.data.reading import Reading, readable, reason_of, require_modest
from noiselimit.data.tables import Table
from noiselimit.errors import InputError

INPUTS = ("inputs", "X")
LABELS = ("labels", "y")
TEST_INPUTS = ("test_inputs", "X_test")
TEST_LABELS = ("test_labels", "y_test")
LABEL_SET = "labels_"
REMEDY = "save arrays of numbers or text with numpy.savez"


def read_npz(path: Path, reading: Reading = Reading()) -> DataSet:  # noqa: B008 - frozen
    """The data set in an archive; only inputs and labels are required."""
    with _open(path) as archive:
        names = _find(archive, path, "class_names")
        sets = [name for name in archive.files if name.startswith(LABEL_SET) and name != LABEL_SET]
        inputs, table = encode_gaps(_require(archive, path, *INPUTS), str(path))
        examples = make_examples(
            inputs,
            _require(archive, path, *LABELS),
            class_names=None if names is None else names.ravel().tolist(),
            clean_labels=_find(archive, path, "clean_labels"),
            weights=_find(archive, path, "weights"),
            label_sets={name.removeprefix(LABEL_SET): _find(archive, path, name) for name in sets},
            source=str(path),
            keep_unlabelled=reading.keep_unlabelled,
        )
        if not set(archive.files) & {*TEST_INPUTS, *TEST_LABELS}:
            return DataSet(path.stem, examples, table=table)
        inputs = _require(archive, path, *TEST_INPUTS)
        test = make_examples(
            inputs if table is None else table.encode_new(inputs, str(path)),
            _require(archive, path, *TEST_LABELS),
            class_names=examples.class_names,
            clean_labels=_find(archive, path, "test_clean_labels"),
            source=f"{path} (test part)",
            may_lack_classes=True,
        )
        return DataSet(path.stem, examples, test, table)


def read_npz_inputs(path: Path, test: bool = False, table: Table | None = None) -> npt.NDArray[Any]:
    """Only the inputs, or those of the test part, in canonical form: what a prediction needs."""
    with _open(path) as archive:
        inputs = _require(archive, path, *(TEST_INPUTS if test else INPUTS))
    return canonical_inputs(inputs if table is None else table.encode_new(inputs, str(path)), str(path))


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an archive by name."""
    with _open(path) as archive:
        return {name: _require(archive, path, name) for name in archive.files}


def read_npy(file: IO[bytes]) -> npt.NDArray[Any]:
    """The array in an open .npy file; raises ValueError if it is damaged or holds Python objects."""
    try:
        return _checked(np.lib.format.read_array(file, allow_pickle=False))
    except Exception as error:  # NumPy raises nearly anything on damaged files
        raise ValueError(reason_of(error)) from None


@contextmanager
def _open(path: Path) -> Iterator[NpzFile]:
    with readable(path, REMEDY):
        archive = NpzFile(path, allow_pickle=False)  # type: ignore[arg-type]  # a path works, too
    with archive:
        members = archive.zip.infolist() if archive.zip else []
        require_modest(path, sum(info.file_size for info in members))
        yield archive


def _find(archive: NpzFile, path: Path, *names: str) -> npt.NDArray[Any] | None:
    """The array under the first of its names that is there."""
    for name in names:
        if name in archive.files:
            with readable(f"{path}: array '{name}'", REMEDY):
                return _checked(archive[name])
    return None


def _require(archive: NpzFile, path: Path, *names: str) -> npt.NDArray[Any]:
    array = _find(archive, path, *names)
    if array is None:
        found = ", ".join(archive.files) or "nothing"
        raise InputError(f"{path}: no array '{names[0]}' or '{names[-1]}', only {found}; rename one.")
    return array


def _checked(array: Any) -> npt.NDArray[Any]:
    if not isinstance(array, np.ndarray):
        raise ValueError("it is not an array")
    if array.dtype.kind == "U":
        array.tolist()  # raises for text that is not Unicode
    return array
