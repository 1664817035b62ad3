"""Pictures that are missing or damaged: an error, or left out and reported."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from noiselimit.data.paths import Paths
from noiselimit.data.pictures import for_each
from noiselimit.errors import InputError

MOST_NAMED = 20


@dataclass(frozen=True)
class BadPictures:
    """What was left out of some data."""

    complaints: tuple[str, ...] = ()
    of: int = 0
    """How many pictures there were."""

    def __add__(self, other: "BadPictures") -> "BadPictures":
        return BadPictures(self.complaints + other.complaints, self.of + other.of)

    def notes(self, source: str) -> tuple[str, ...]:
        """For the user: how many, and which."""
        count = len(self.complaints)
        if not count:
            return ()
        more = (f"… and {count - MOST_NAMED} more.",) if count > MOST_NAMED else ()
        return (
            f"{source}: {count} of {self.of} pictures are missing or damaged and were left out:",
            *self.complaints[:MOST_NAMED],
            *more,
        )


def good_pictures(
    folder: Path, paths: Paths, check: Callable[[int, bytes], None], *, skip: bool
) -> tuple[npt.NDArray[np.int64], BadPictures]:
    """The rows whose `check(row, path)` finds nothing wrong, and the rest; without `skip` these are an error.

    A check raises InputError. They run in threads, yet the first bad row is the one complained of.
    """
    complaints: dict[int, str] = {}
    root = os.fsencode(folder)

    def examine(row: int) -> None:
        try:
            check(row, os.path.join(root, paths.encoded(row)))
        except InputError as error:
            if not skip:
                raise
            complaints[row] = str(error).rsplit(";", 1)[0]  # without the remedy, which the user has chosen

    for_each(examine, len(paths))
    bad = sorted(complaints)
    kept = np.delete(np.arange(len(paths)), bad)
    if not len(kept) and bad:
        raise InputError(
            f"{folder}: all of its {len(bad)} pictures are missing or damaged, the first being "
            f"{paths[0]}; name the folder that has them."
        )
    return kept, BadPictures(tuple(complaints[row] for row in bad), len(paths))


def require_good_of_each(class_names: Sequence[str], labels: npt.NDArray[np.int64], source: str) -> None:
    """An error where bad pictures, left out, were all that a class had."""
    counts = np.bincount(labels, minlength=len(class_names))
    if not counts.all():
        name = class_names[int(np.argmin(counts))]
        raise InputError(
            f"{source}: all pictures of class '{name}' are missing or damaged; "
            "restore some, or remove the class from the data."
        )


def require_file(row: int, path: bytes) -> None:
    """The quickest check: whether there is a file, and something in it."""
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise InputError(
            f"{os.fsdecode(path)}: this picture is missing ({error.strerror}); "
            "restore it, or leave out such pictures with --skip-bad-images."
        ) from None
    if not size:
        raise InputError(
            f"{os.fsdecode(path)}: this picture is empty; "
            "restore it, or leave out such pictures with --skip-bad-images."
        )
