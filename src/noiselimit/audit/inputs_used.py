"""What an audit's networks were shown, in words: so that a column that should not be there is noticed."""

from noiselimit.data.columns import Categorical
from noiselimit.data.examples import DataSet
from noiselimit.data.table import Table


def inputs_used(data: DataSet) -> str:
    """`12 columns (9 of numbers, 3 of categories as 17 features)`, `pictures 3×48×40` or `64 numbers`."""
    shape = data.examples.input_shape
    if len(shape) > 1:
        return f"pictures {'×'.join(map(str, shape))}"
    return _many(shape[0], "number") if data.table is None else _columns(data.table)


def _columns(table: Table) -> str:
    categories = [len(column.categories) for column in table.columns if isinstance(column, Categorical)]
    numbers = len(table.columns) - len(categories)
    names = f"of categories as {_many(sum(categories), 'feature')}"
    all_columns = _many(len(table.columns), "column")
    if not categories:
        return f"{all_columns} of numbers"
    if not numbers:
        return f"{all_columns} {names}"
    return f"{all_columns} ({numbers:,} of numbers, {len(categories):,} {names})"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
