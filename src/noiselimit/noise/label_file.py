"""Files of labels: one per example, numbers or class names."""

import csv
import hashlib
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.data.npy import read_npy
from noiselimit.errors import InputError
from noiselimit.opening import open_regular

SUFFIXES = (".npy", ".csv", ".txt", ".npz")  # the last is known only to be refused with the reason


def read_label_file(path: Path) -> npt.NDArray[Any] | list[str]:
    """The labels [n] in a .npy file, or one on each line of a .csv or .txt file; empty lines do not count."""
    try:
        match path.suffix.lower():
            case ".npy":
                with open_regular(path) as file:
                    return read_npy(file, os.fstat(file.fileno()).st_size)
            case ".txt":
                with _text(path) as text:
                    return [line.strip() for line in text.read().splitlines() if line.strip()]
            case ".csv":
                with _text(path) as text:
                    return [
                        _only_column(row, path, number) for number, row in enumerate(csv.reader(text)) if row
                    ]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a readable file.") from None
    except (ValueError, csv.Error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read as labels ({error}); write it anew.") from None
    if path.suffix.lower() == ".npz":
        raise InputError(
            f"{path}: an archive may hold several arrays; save the labels alone with numpy.save."
        )
    raise InputError(f"{path}: labels must come in a .npy, .csv or .txt file; convert it.")


def _text(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="")


def digest_of(labels: npt.NDArray[Any]) -> str:
    """16 hexadecimal digits that stand for these labels, int64 or strings, and their order."""
    digest = hashlib.blake2b(digest_size=8)
    if labels.dtype.kind == "U":
        for label in labels.tolist():
            digest.update(label.encode() + b"\0")
    else:
        digest.update(np.ascontiguousarray(labels, dtype="<i8").data)
    return digest.hexdigest()


def _only_column(row: list[str], path: Path, number: int) -> str:
    if len(row) > 1:
        raise InputError(
            f"{path}: row {number} has {len(row)} columns; keep the labels alone, one on each line."
        )
    return row[0].strip()
