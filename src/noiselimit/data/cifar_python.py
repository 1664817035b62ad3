"""CIFAR's python version: pickled dictionaries, read by a machine that runs nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.data.cifar_binary import PICTURE, PICTURE_BYTES
from noiselimit.data.safe_pickle import read_pickle
from noiselimit.errors import InputError


def read_python(path: Path, label_key: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]:
    """The pictures [n, 3, 32, 32] and labels [n] in a batch file."""
    batch = _dictionary(path)
    data, labels = _entry(path, batch, "data"), _entry(path, batch, label_key)
    if (
        not isinstance(data, np.ndarray)
        or data.dtype != np.uint8
        or data.ndim != 2
        or data.shape[1] != PICTURE_BYTES
    ):
        raise InputError(
            f"{path}: 'data' is no uint8 array of shape [n, {PICTURE_BYTES}]; fetch the file again."
        )
    if not isinstance(labels, list) or len(labels) != len(data):
        raise InputError(
            f"{path}: '{label_key}' is no list of {len(data)} labels, one a picture; fetch the file again."
        )
    for record, label in enumerate(labels):
        if type(label) is not int or not 0 <= label < 256:
            raise InputError(f"{path}: record {record} has a label that is no class; fetch the file again.")
    return data.reshape(len(data), *PICTURE), np.array(labels, dtype=np.uint8)


def read_names_pickle(path: Path, key: str) -> list[Any]:
    """Class names from the pickled description of the data set."""
    names = _entry(path, _dictionary(path), key)
    if not isinstance(names, list):
        raise InputError(f"{path}: '{key}' is no list; fetch the file again or remove it.")
    return [name.decode("latin-1") if isinstance(name, bytes) else name for name in names]


def _dictionary(path: Path) -> dict[Any, Any]:
    value = read_pickle(path)
    if not isinstance(value, dict):
        raise InputError(f"{path}: this pickle is no dictionary; fetch the official file again.")
    return value


def _entry(path: Path, values: dict[Any, Any], key: str) -> Any:
    """What stands under the key, which Python 2 wrote as bytes."""
    found = values.get(key.encode(), values.get(key))
    if found is None:
        raise InputError(f"{path}: there is no '{key}' in this pickle; fetch the official file again.")
    return found
