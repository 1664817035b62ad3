"""Columns of a table that a user wants left out."""

import difflib
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from noiselimit.errors import InputError
from noiselimit.fields import option

if TYPE_CHECKING:  # the command line reads the fields for --help, so importing this must be fast
    import pandas as pd

TABLES = frozenset({"label", "clean_label", "weight", "ignore"})
PICTURES = frozenset({"resize", "skip_bad_images"})
LARGEST_SIDE = 2048
"""In pixels: a batch of larger squares would fill the memory."""


@dataclass(frozen=True)
class Reading:
    """How to read data files. A run's hash covers it through the fingerprint of the data."""

    label: str | None = option(None, "Column of a table that holds the labels.", metavar="COLUMN")
    clean_label: str | None = option(None, "Column with clean labels, for evaluation.", metavar="COLUMN")
    weight: str | None = option(None, "Column with the weight of each example.", metavar="COLUMN")
    resize: int | None = option(None, "Resize pictures from files to this side.", metavar="PIXELS")
    skip_bad_images: bool = option(False, "Skip pictures that cannot be read, and list them.")
    keep_unlabelled: bool = False
    """Keep rows without a label, with −1 as their label, instead of refusing the data; for audits."""
    ignore: tuple[str, ...] = option(
        (), "Columns to leave out, such as identifiers; see docs/data.md.", metavar="COLUMN,..."
    )

    def __post_init__(self) -> None:
        if isinstance(self.ignore, str):  # whose letters would pass for columns
            raise InputError(f"ignore is {self.ignore!r}: give a list of names of columns.")
        object.__setattr__(self, "ignore", tuple(self.ignore))
        side = self.resize
        if side is not None and (type(side) is not int or not 1 <= side <= LARGEST_SIDE):
            raise InputError(f"--resize is {side}: give a whole number of pixels from 1 to {LARGEST_SIDE}.")

    def require_only(self, allowed: Collection[str], source: str) -> None:
        """An error where something is said that the format which takes the `allowed` would not heed."""
        for field in fields(self):
            if field.name == "keep_unlabelled":  # nothing is lost where it is not heeded
                continue
            if field.name not in allowed and getattr(self, field.name) != field.default:
                option = field.name.replace("_", "-")
                kind = "tables (CSV, Parquet)" if field.name in TABLES else "picture files (JPEG, PNG, …)"
                raise InputError(f"{source}: --{option} is for {kind}, which these are not; leave it out.")


ALWAYS = 2**30
"""Bytes that any file may become."""
GROWTH = 100
"""Beyond that, at most so many times its own size; pictures of digits grow five times, tables ten."""

MOST_COLUMNS = 100_000
"""Of a table; each takes some 8 kB while the table is read, however little is in it."""


def require_modest(path: Path, declared: int) -> None:
    """Refuse a file that says it would take that many bytes, before any of them is allocated."""
    size = os.stat(path).st_size
    if declared > max(ALWAYS, GROWTH * size):
        raise InputError(
            f"{path}: its {size:,} bytes would become {declared:,} in memory, more than {GROWTH} times as "
            "many and than 1 GiB; if they are no mistake, save them without compression."
        )


def require_few_columns(path: Path, count: int) -> None:
    """Refuse a table that has more columns than can be read in little memory."""
    if count > MOST_COLUMNS:
        raise InputError(
            f"{path}: the table has more than {MOST_COLUMNS:,} columns; keep those that matter, or give the "
            "numbers as an .npz file."
        )


def without_ignored(frame: "pd.DataFrame", reading: Reading, path: Path) -> "tuple[pd.DataFrame, list[str]]":
    """The columns that are not to be ignored, and a note on the others."""
    if not reading.ignore:
        return frame, []
    used = {"label": reading.label or "label", "clean-label": reading.clean_label, "weight": reading.weight}
    others = [name for name in frame.columns if name not in used.values()]
    for name in reading.ignore:
        option = next((option for option, column in used.items() if column == name), None)
        if option is not None:
            raise InputError(
                f"{path}: --ignore names '{name}', the column of --{option}; leave it out of --ignore."
            )
        if name not in frame.columns:
            raise no_column(path, "ignore", name, others)
    if not set(others) - set(reading.ignore):
        raise InputError(f"{path}: --ignore leaves no column of inputs; name fewer.")
    names = [name for name in frame.columns if name in reading.ignore]
    return frame.drop(columns=names), [f"{path}: left out, as asked: {', '.join(map(repr, names))}."]


def no_column(path: Path, option: str, name: str, others: Sequence[str]) -> InputError:
    """The error for a column that an option names and the file lacks, with the nearest one suggested."""
    close = difflib.get_close_matches(name, others, n=1)
    remedy = f"did you mean --{option} {close[0]}?" if close else f"name one with --{option}."
    shown = ", ".join(others[:20]) + (", …" if len(others) > 20 else "")
    return InputError(f"{path}: there is no column '{name}' but {shown or 'no other'}; {remedy}")
