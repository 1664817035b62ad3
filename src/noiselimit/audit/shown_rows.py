"""Rows of features as people read them: names of columns and what they hold."""

from collections.abc import Iterator
from itertools import islice

from noiselimit.data.columns import MISSING, Numeric
from noiselimit.data.examples import DataSet
from noiselimit.report.wording import shorten

MOST_COLUMNS = 8
LONGEST_TEXT = 60


def row_columns(data: DataSet, row: int) -> list[tuple[str, str]]:
    """(name, value) of the first MOST_COLUMNS columns of one row, then how many more there are."""
    cells = _table_cells(data, row) if data.table is not None else _plain_cells(data, row)
    columns = data.examples.inputs.shape[1] if data.table is None else len(data.table.columns)
    shown = [
        (shorten(name, LONGEST_TEXT), shorten(value, LONGEST_TEXT))
        for name, value in islice(cells, MOST_COLUMNS)
    ]
    more = columns - len(shown)
    return [*shown, ("…", f"{more} more")] if more > 0 else shown


def _plain_cells(data: DataSet, row: int) -> Iterator[tuple[str, str]]:
    for place, value in enumerate(data.examples.inputs[row]):
        yield f"value {place}", f"{value:.5g}"


def _table_cells(data: DataSet, row: int) -> Iterator[tuple[str, str]]:
    """A column of names is several features, of which the one that is 1 says the name."""
    assert data.table is not None
    values, start = data.examples.inputs[row], 0
    for column in data.table.columns:
        if isinstance(column, Numeric):
            yield column.name, f"{values[start]:.5g}"
            start += 1
        else:
            end = start + len(column.categories)
            held = [name for name, there in zip(column.categories, values[start:end], strict=True) if there]
            yield column.name, "missing" if held == [MISSING] else ", ".join(held) or "–"
            start = end
