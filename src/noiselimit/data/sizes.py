"""How large a file may become in memory: compression can turn a few bytes into all that a machine has."""

import os
from pathlib import Path

from noiselimit.errors import InputError

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
