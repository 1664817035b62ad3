"""Which picture files lie in which class folder."""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from noiselimit.data.paths import Paths
from noiselimit.errors import InputError

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff")
TRAIN = "train"
TEST_NAMES = ("test", "val", "validation")
"""The first of these that is there is the test part, the next one the validation part."""


@dataclass(frozen=True, eq=False)
class Listing:
    """The pictures of one part: their names below the data's folder, and the number of each one's class."""

    paths: Paths
    labels: npt.NDArray[np.int64]  # [n]


@dataclass(frozen=True, eq=False)
class Listings:
    """All parts, and the classes of the training part, sorted by name."""

    class_names: tuple[str, ...]
    train: Listing
    test: Listing | None = None
    validation: Listing | None = None


def list_class_folders(folder: Path) -> Listings | None:
    """Class folders in the folder, or in its sub-folders train, test and val; None where there are none.

    A class folder is one with a picture in it or in its own sub-folders; hidden ones do not count.
    """
    found = tuple(_class_folders(folder))
    if not found:
        return None
    if set(found) <= set(TEST_NAMES):  # nobody has classes of these names alone
        raise InputError(
            f"{folder}: there is {' and '.join(found)} but no {TRAIN}; put pictures to train on there."
        )
    root = TRAIN if _is_divided(folder, found) else ""
    names = tuple(_class_folders(folder / root))
    for name in names:
        if not name.isprintable():  # half a surrogate pair, from a name that is not UTF-8, is not either
            raise InputError(f"{folder / root}: the class folder {name!r} is not named in text; rename it.")
    train = _list(folder, root, names)
    if not root:
        return Listings(names, train)
    parts = [name for name in TEST_NAMES if name in found]
    test = _list(folder, parts[0], names) if parts else None
    validation = _list(folder, parts[1], names) if len(parts) > 1 else None
    return Listings(names, train, test, validation)


def list_pictures(folder: Path, *, test: bool = False) -> Paths | None:
    """All pictures below the folder, sorted; where there is a folder train of class folders, those there.

    With `test`, those in the test part, None where there is none; no other part is looked at.
    """
    found = tuple(_class_folders(folder))
    part = ""
    if test:
        part = next((name for name in TEST_NAMES if name in found), "")
        if not part:
            return None
    elif {TRAIN} < set(found) <= {TRAIN, *TEST_NAMES} and has_class_folders(folder / TRAIN):
        part = TRAIN
    return Paths(sorted(os.path.relpath(path, folder) for path in _pictures(folder / part)))


def has_class_folders(folder: Path) -> bool:
    """Whether there are pictures in folders of the folder."""
    return next(_class_folders(folder), None) is not None


def _is_divided(folder: Path, found: Collection[str]) -> bool:
    """Whether these folders of pictures are parts, each with class folders; a class may be named train."""
    if TRAIN not in found:
        return False
    others = set(found) - {TRAIN, *TEST_NAMES}
    divided = has_class_folders(folder / TRAIN)
    if divided and others:
        raise InputError(
            f"{folder}: {TRAIN} has class folders of its own, but beside it is {min(others)}; "
            f"leave only {', '.join((TRAIN, *TEST_NAMES))} there."
        )
    if not divided and not others and len(found) > 1:
        raise InputError(f"{folder / TRAIN}: its pictures are in no class folders; make one for each class.")
    return divided


def _class_folders(folder: Path) -> Iterator[str]:
    """Names of the folders with pictures, sorted."""
    for entry in sorted(folder.iterdir()):
        if not entry.name.startswith(".") and entry.is_dir() and next(_pictures(entry), None) is not None:
            yield entry.name


def _list(folder: Path, part: str, class_names: tuple[str, ...]) -> Listing:
    paths: list[str] = []
    labels: list[int] = []
    for name in _class_folders(folder / part):
        if name not in class_names:
            raise InputError(
                f"{folder / part / name}: the training part has no class '{name}'; "
                "add pictures of it there, or remove this folder."
            )
        found = sorted(os.path.relpath(path, folder) for path in _pictures(folder / part / name))
        paths += found
        labels += [class_names.index(name)] * len(found)
    return Listing(Paths(paths), np.array(labels, np.int64))


def _pictures(folder: Path) -> Iterator[str]:
    """Picture files in the folder and below it, in no order."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and name.lower().endswith(ENDINGS):
                yield os.path.join(place, name)
