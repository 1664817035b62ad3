"""Which columns are numbers and which are names, and how rows become features."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.columns import Categorical, Numeric
from noiselimit.data.fitting import fit_table
from noiselimit.data.tables import Table
from noiselimit.errors import InputError

TABLE = Table((Numeric("age"), Categorical("colour", ("", "blau", "grün")), Numeric("size")))
FRAME = pd.DataFrame({"age": [1, 2, 3], "colour": ["grün", None, "rot"], "size": [0.5, -1, 7]})
FEATURES = [[1, 0, 0, 1, 0.5], [2, 1, 0, 0, -1], [3, 0, 0, 0, 7]]
NUMBERS = [str(number) for number in range(50)]


def test_numbers_pass_and_names_become_one_feature_each():
    features = TABLE.encode(FRAME)
    assert features.dtype == np.float32
    assert features.tolist() == FEATURES
    assert TABLE.features == 5
    assert TABLE.is_numeric.tolist() == [True, False, False, False, True]
    assert TABLE.encode(FRAME[:0]).shape == (0, 5)


def test_names_are_compared_as_text():
    table = Table((Categorical("x", ("1", "2", "True")),))
    for values in ([1, 2], [1.0, 2.0], ["1", "2"], pd.Categorical([1, 2])):
        assert table.encode(pd.DataFrame({"x": values})).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert table.encode(pd.DataFrame({"x": [True, False]})).tolist() == [[0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("values", [[1, 0], ["1", "0.0"], [True, False], [Decimal(1), Decimal(0)]])
def test_numbers_may_be_spelled(values):
    assert Table((Numeric("x"),)).encode(pd.DataFrame({"x": values})).tolist() == [[1], [0]]


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    """Tables of a few numbers, names and dates, some cells empty."""
    rows = draw(st.integers(2, 12))
    names = draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=4, unique=True))
    number = st.floats(-1e6, 1e6, width=32) | st.integers(-1000, 1000)
    text = st.text(st.characters(codec="utf-8"), max_size=3)
    date = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)).map(str)
    kinds = [number, number | st.none(), text | st.none(), st.booleans(), date, date | st.none()]
    columns = {"not constant": pd.Series(range(rows))}
    for name in names:
        kind = draw(st.integers(0, len(kinds) - 1))
        values = draw(st.lists(kinds[kind], min_size=rows, max_size=rows))
        columns[name] = pd.Series(values, dtype=float if kind < 2 else object)
    return pd.DataFrame(columns)


@given(frames(), st.randoms(use_true_random=False))
def test_encoding_goes_row_by_row_and_by_names(frame, random):
    table = fit_table(frame, "t")
    features = table.encode(frame)
    assert table.features == len(table.is_numeric) == features.shape[1]
    order = random.sample(range(len(frame)), len(frame))
    columns = random.sample(list(frame.columns), len(frame.columns))
    shuffled = frame.iloc[order][columns].assign(**{"one more column": "?"})
    assert np.array_equal(table.encode(shuffled), features[order])
    assert Table.from_json(json.loads(json.dumps(table.to_json()))) == table
    assert np.isfinite(features).all()
    start = 0
    for column in table.columns:
        own = features[:, start : start + column.width]
        start += column.width
        if isinstance(column, Categorical):  # a row has exactly one of the names that the table was fitted on
            assert (own.sum(1) == 1).all()
        elif isinstance(column, Numeric) and column.words is None:
            given = frame[column.name].to_numpy(np.float32, na_value=np.nan)
            empty = np.isnan(given)
            assert np.array_equal(own[~empty, 0], given[~empty])
            if column.median is not None:
                assert np.array_equal(own[:, 1] == 1, empty)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"age": None}, "no column .*'age'"),
        ({"age": [1, np.nan, 2]}, "'age' .*row 1"),
        ({"age": ["1", "", "2"]}, "'age' .*row 1"),
        ({"age": [1, 2, np.inf]}, "'age' .*row 2"),
        ({"age": [1e39, 1, 2]}, "'age' .*row 0"),
        ({"age": ["1", "old", "2"], "size": None}, r"\(1\) .*'old'.*\(2\) .*'size'"),
        ({"age": ["1", "old", "2"]}, "'age' holds 'old' in row 1"),
        ({"age": [datetime.date(2020, 1, 1)] * 3}, "'age' .*dates"),
        ({"colour": pd.to_datetime(["2020-01-01"] * 3)}, "'colour' .*dates"),
        ({"colour": [["a"], ["b"], ["c"]]}, "'colour'"),
        ({"colour": [b"a", b"b", b"c"]}, "'colour' .*UTF-8"),
        ({"size": [1j, 2, 3]}, "'size' .*complex"),
    ],
)
def test_rows_that_cannot_be_encoded(change, word):
    changed = {**dict(FRAME.items()), **change}
    frame = pd.DataFrame({name: values for name, values in changed.items() if values is not None})
    with pytest.raises(InputError, match=rf"^new\.csv: .*{word}"):
        TABLE.encode(frame, "new.csv")


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        ["x"],
        [{}],
        [{"name": ""}],
        [{"name": "x"}, {"name": "x"}],
        [{"name": "x", "kind": "numeric"}],
        [{"name": "x", "categories": []}],
        [{"name": "x", "categories": "ab"}],
        [{"name": "x", "categories": ["a", 1]}],
        [{"name": "x", "categories": ["a", "a"]}],
        [{"name": "x", "categories": ["a"], "more": 1}],
    ],
)
def test_json_that_is_not_a_table(value):
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        Table.from_json(value)
