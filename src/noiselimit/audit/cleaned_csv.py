"""A cleaned copy of a CSV file, character by character: numbers are never read, so never written anew."""

import mmap
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from noiselimit.audit.fixes import Fixes
from noiselimit.data.table_file import separator
from noiselimit.errors import InputError
from noiselimit.opening import open_regular

BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_EMPTY_LINES = re.compile(rb"[\r\n]*")


def clean_csv(source: Path, target: Path, fixes: Fixes, label: str) -> None:
    """Lines that stay are copied as they are, with their ends; a new label replaces its cell alone."""
    if source.stat().st_size == 0:  # which cannot be mapped
        raise InputError(f"{source}: the file is empty; audit the file as it is now.")
    with open_regular(source) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        cells = _Cells(source)
        records = cells.records(text)
        header = next(records, (0, 0, 0))
        names = [_unquoted(text[slice(*span)]) for span in cells.spans(text, header[0], header[1])]
        if names.count(label.encode()) != 1:
            raise InputError(
                f"{source}: there is no column '{label}'; name the one of the labels with --label."
            )
        cell = cells.numbered(names.index(label.encode()))
        spelled: dict[bytes, bytes] = {}  # one copy of each
        spellings: list[bytes] = []
        for start, end, _ in records:
            found = cell.match(text, start, end)
            if found is None:
                raise InputError(f"{source}: row {len(spellings)} has too few cells; complete it.")
            spellings.append(spelled.setdefault(found[1], found[1]))
        rows = fixes.spelled_as(np.array([*spellings, None], object)[:-1], str(source))
        with target.open("wb") as out:
            done = header[2]
            out.write(text[:done])
            for row, (start, end, after) in enumerate(cells.records(text, done)):
                out.write(text[done:start])  # empty lines
                found = cell.match(text, start, end) if fixes.changed[row] else None
                if found is not None:
                    out.write(
                        text[start : found.start(1)] + spellings[rows[row]] + text[found.end(1) : after]
                    )
                elif fixes.kept[row]:
                    out.write(text[start:after])
                done = after
            out.write(text[done:])


class _Cells:
    """Where lines and cells end, as pyarrow has it: quotes count only at the start of a cell."""

    def __init__(self, source: Path) -> None:
        self._source, mark = source, separator(source).encode()
        rest = rb"[^%s\r\n]*" % mark
        self._cell = rb'(?:"[^"]*(?:""[^"]*)*"%s|(?!")%s)' % (rest, rest)
        self._mark = mark
        self._record = re.compile(rb"%s(?:%s%s)*" % (self._cell, mark, self._cell))

    def records(self, text: mmap.mmap, place: int = 0) -> Iterator[tuple[int, int, int]]:
        """(start, end, start of what follows) of the header and of every row; empty lines are none."""
        if place == 0 and text[: len(BOM)] == BOM:
            place = len(BOM)
        ahead = {b"\n": -1, b"\r": -1}  # where the next one is; searching thus is faster than a pattern
        while True:
            empty = _EMPTY_LINES.match(text, place)
            start = empty.end() if empty else place
            if start >= len(text):
                return
            for mark, found_at in ahead.items():
                if found_at < start:
                    ahead[mark] = text.find(mark, start) % (len(text) + 1)  # −1 becomes the length
            end = min(ahead.values())
            if text.find(b'"', start, end) >= 0:  # a line end may be inside a cell
                found = self._record.match(text, start)
                end = found.end() if found else start
            line = _LINE_END.match(text, end)
            if line is None and end < len(text):
                raise InputError(
                    f"{self._source}: a quote after byte {end} is never closed; close or remove it."
                )
            place = line.end() if line else end
            yield start, end, place

    def spans(self, text: mmap.mmap, start: int, end: int) -> list[tuple[int, int]]:
        """Where the cells of a line are."""
        found = []
        cell = re.compile(self._cell)
        while (match := cell.match(text, start, end)) is not None:
            found.append(match.span())
            start = match.end() + 1
            if start > end:
                break
        return found

    def numbered(self, place: int) -> "re.Pattern[bytes]":
        """Finds the cell of this number in a line, as group 1."""
        return re.compile(rb"(?:%s%s){%d}(%s)" % (self._cell, self._mark, place, self._cell))


def _unquoted(cell: bytes) -> bytes:
    if not cell.startswith(b'"'):
        return cell
    end = re.match(rb'"[^"]*(?:""[^"]*)*"', cell)
    inner = cell[1 : end.end() - 1] if end else cell[1:]
    return inner.replace(b'""', b'"') + (cell[end.end() :] if end else b"")
