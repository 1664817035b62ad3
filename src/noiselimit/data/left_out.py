"""Columns of a table that a user wants left out."""

import difflib
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from noiselimit.data.reading import Reading
from noiselimit.errors import InputError


def without_ignored(frame: pd.DataFrame, reading: Reading, path: Path) -> tuple[pd.DataFrame, list[str]]:
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
