"""A cleaned copy of a NumPy archive."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.audit.fixes import Fixes
from noiselimit.data.npz import LABELS, TEST_INPUTS, TEST_LABELS, UNREADABLE, read_member
from noiselimit.errors import InputError

OTHERS = frozenset({"class_names", "test_clean_labels", *TEST_INPUTS, *TEST_LABELS})
"""Arrays that do not have a row for each example, even where they happen to be as long."""


def clean_npz(source: Path, target: Path, fixes: Fixes, label: str) -> None:
    """All arrays with a row for each example are shortened alike; the rest is copied byte by byte."""
    try:
        with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
            names = {name.removesuffix(".npy"): name for name in old.namelist()}
            labels = next((name for name in LABELS if name in names), None)
            if labels is None:
                raise InputError(f"{source}: there is no array '{LABELS[0]}' (or '{LABELS[-1]}'); add it.")
            rows = fixes.spelled_as(_read(old, names[labels], source), str(source))
            for member in old.infolist():
                changed = _changed(old, member.filename, labels, rows, fixes, source)
                info = zipfile.ZipInfo(member.filename, member.date_time)
                info.compress_type, info.external_attr = member.compress_type, member.external_attr
                with new.open(info, "w", force_zip64=True) as into:
                    if changed is None:
                        with old.open(member) as content:
                            shutil.copyfileobj(content, into)
                    else:
                        np.lib.format.write_array(into, changed, allow_pickle=False)
    except InputError:
        raise
    except UNREADABLE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"{source}: cannot be copied ({reason}); write it with numpy.savez.") from None


def _changed(
    archive: zipfile.ZipFile,
    member: str,
    labels: str,
    rows: npt.NDArray[np.int64],
    fixes: Fixes,
    source: Path,
) -> npt.NDArray[Any] | None:
    """The array as it is to be; None where it stays."""
    name = member.removesuffix(".npy")
    drops = not fixes.kept.all()
    if name != labels and (not drops or name in OTHERS or not member.endswith(".npy")):
        return None
    array = _read(archive, member, source)
    if name == labels:
        array = array[rows]
    if drops and array.ndim and len(array) == len(fixes.kept):
        return np.asarray(array[fixes.kept])
    return array if name == labels else None


def _read(archive: zipfile.ZipFile, member: str, source: Path) -> npt.NDArray[Any]:
    try:
        return read_member(archive, member)
    except UNREADABLE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"{source}: array '{member.removesuffix('.npy')}' cannot be read ({reason}); "
            "save plain numbers or strings with numpy.savez."
        ) from None
