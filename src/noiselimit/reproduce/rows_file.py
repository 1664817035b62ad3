"""Rows in CSV files, one for each data set: appended line by line, read whatever a crash left."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from noiselimit.errors import InputError
from noiselimit.files import make_folder
from noiselimit.locks import file_lock
from noiselimit.opening import open_regular, read_small_text
from noiselimit.reproduce.row_checks import check_row
from noiselimit.reproduce.rows import HEADER, Item, ResultRow, line_of, row_of, split_line


def rows_path(folder: Path, data: str) -> Path:
    """Where the rows of a data set are."""
    return folder / f"{data}.csv"


def read_rows(path: Path) -> list[ResultRow]:
    """All rows of a file, in its order, without a last line that has no end; none where there is no file."""
    return read_lines(path, HEADER, lambda line: sound_row(split_line(line))) if path.exists() else []


def sound_row(values: Sequence[str]) -> ResultRow:
    """The row of a line's values; a ValueError where it is none of ours, or can be none."""
    row = row_of(values)
    check_row(row)
    return row


def read_lines(
    path: Path, header: str, parse: Callable[[str], Item], *, is_appended_to: bool = True
) -> list[Item]:
    """What `parse` makes of each line below the header.

    A crash can leave a last line without an end in a file that lines are appended to: that is passed over.
    """
    try:
        text = read_small_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}): name a file of results.") from None
    lines = text[: text.rfind("\n") + 1].splitlines()
    if lines[0] != header if lines else not header.startswith(text):
        raise InputError(
            f"{path} is no file of results of this version, since its first line is another: move it away, "
            "or name another place."
        )
    found = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            found.append(parse(line))
        except ValueError as error:
            raise InputError(f"{path} is damaged in line {number} ({error}): delete that line.") from None
    if text and not text.endswith("\n") and not is_appended_to:
        raise InputError(
            f"{path} is damaged in line {len(lines) + 1} (it has no end, so that some of it may be missing): "
            "delete that line, or end it if nothing is missing."
        )
    return found


def append_rows(path: Path, rows: Iterable[ResultRow]) -> None:
    """Add whole lines at the end, on disk when this returns; what a crash left of a line goes first."""
    text = "".join(f"{line_of(row)}\n" for row in rows)
    make_folder(path.parent)
    with file_lock(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            whole = _whole_bytes(handle)
            os.ftruncate(handle, whole)
            os.lseek(handle, whole, os.SEEK_SET)
            left = ((HEADER + "\n" if whole == 0 else "") + text).encode()
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)


def _whole_bytes(handle: int) -> int:
    """Bytes up to the end of the last whole line."""
    size = os.fstat(handle).st_size
    tail = os.pread(handle, min(size, 65536), max(0, size - 65536))
    return max(0, size - len(tail)) + tail.rfind(b"\n") + 1


def is_rows_file(path: Path) -> bool:
    """Whether the first line is that of rows, whatever ends it: what figures keep has one column more."""
    with open_regular(path) as file:
        return file.readline(len(HEADER) + 2).decode("utf-8", "replace").rstrip("\r\n") == HEADER
