"""Rows of a table become the same features wherever they come from."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.tables import Categorical, Numeric, Table, fit_table
from noiselimit.errors import InputError

TABLE = Table((Numeric("age"), Categorical("colour", ("", "blau", "grün")), Numeric("size")))
FRAME = pd.DataFrame({"age": [1, 2, 3], "colour": ["grün", None, "rot"], "size": [0.5, -1, 7]})
FEATURES = [[1, 0, 0, 1, 0.5], [2, 1, 0, 0, -1], [3, 0, 0, 0, 7]]

texts = st.text(st.characters(codec="utf-8"), max_size=3)


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    """Tables of a few numbers and names, some cells of the latter empty."""
    rows = draw(st.integers(1, 12))
    names = draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=4, unique=True))
    number = st.floats(-1e6, 1e6, width=32) | st.integers(-1000, 1000)
    columns = {}
    for name in names:
        cells = draw(st.sampled_from([number, texts | st.none(), st.booleans()]))
        values = draw(st.lists(cells, min_size=rows, max_size=rows))
        columns[name] = pd.Series(values, dtype=None if cells is number else object)
    return pd.DataFrame(columns)


def test_numbers_pass_and_names_become_one_feature_each():
    features = TABLE.encode(FRAME)
    assert features.dtype == np.float32
    assert features.tolist() == FEATURES
    assert TABLE.features == 5
    assert TABLE.feature_names == ("age", "colour is missing", "colour=blau", "colour=grün", "size")
    assert TABLE.is_numeric.tolist() == [True, False, False, False, True]


def test_names_are_compared_as_text():
    table = Table((Categorical("x", ("1", "2", "True")),))
    for values in ([1, 2], [1.0, 2.0], ["1", "2"], pd.Categorical([1, 2])):
        assert table.encode(pd.DataFrame({"x": values})).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert table.encode(pd.DataFrame({"x": [True, False]})).tolist() == [[0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("values", [[1, 0], ["1", "0.0"], [True, False], [Decimal(1), Decimal(0)]])
def test_numbers_may_be_spelled(values):
    assert Table((Numeric("x"),)).encode(pd.DataFrame({"x": values})).tolist() == [[1], [0]]


def test_no_rows_are_no_features():
    assert TABLE.encode(FRAME[:0]).shape == (0, 5)


@given(frames(), st.randoms(use_true_random=False))
def test_encoding_goes_row_by_row_and_by_names(frame, random):
    table = fit_table(frame, "t")
    features = table.encode(frame)
    assert len(table.feature_names) == table.features == len(table.is_numeric) == features.shape[1]
    order = random.sample(range(len(frame)), len(frame))
    columns = random.sample(list(frame.columns), len(frame.columns))
    shuffled = frame.iloc[order][columns].assign(**{"one more column": "?"})
    assert np.array_equal(table.encode(shuffled), features[order])
    assert Table.from_json(json.loads(json.dumps(table.to_json()))) == table
    start = 0
    for column in table.columns:  # a row of names has exactly one of those it was fitted on
        if isinstance(column, Categorical):
            assert (features[:, start : start + len(column.categories)].sum(1) == 1).all()
            start += len(column.categories)
        else:
            assert np.array_equal(features[:, start], frame[column.name].astype(np.float32))
            start += 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"age": None}, "there is no column 'age', which the training data had; add it"),
        ({"age": [1, np.nan, 2]}, "column 'age' has no number in row 1; fill it in"),
        ({"age": ["1", "", "2"]}, "column 'age' has no number in row 1; fill it in"),
        ({"age": [1, 2, np.inf]}, "column 'age' is inf in row 2, beyond the range"),
        ({"age": [1e39, 1, 2]}, r"column 'age' is 1e\+39 in row 0, beyond the range"),
        ({"age": ["1", "old", "2"]}, "column 'age' holds 'old' in row 1; give a number"),
        ({"age": [datetime.date(2020, 1, 1)] * 3}, "column 'age' holds dates or times; replace it"),
        ({"colour": pd.to_datetime(["2020-01-01"] * 3)}, "column 'colour' holds dates or times"),
        ({"colour": [["a"], ["b"], ["c"]]}, "column 'colour' has type mixed; give numbers or text"),
        ({"colour": [b"a", b"b", b"c"]}, "column 'colour' is not text in UTF-8; save the file"),
        ({"size": [1j, 2, 3]}, "column 'size' has type complex"),
    ],
)
def test_what_rows_may_not_hold(change, sentence):
    changed = {**dict(FRAME.items()), **change}
    frame = pd.DataFrame({name: values for name, values in changed.items() if values is not None})
    with pytest.raises(InputError, match=f"^new.csv: {sentence}"):
        TABLE.encode(frame, "new.csv")


def test_two_columns_of_one_name():
    with pytest.raises(InputError, match="two columns are called 'age'; remove one"):
        TABLE.encode(pd.concat([FRAME, FRAME[["age"]]], axis=1))


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"name": "x"},
        ["x"],
        [{}],
        [{"name": ""}],
        [{"name": 3}],
        [{"name": "x"}, {"name": "x"}],
        [{"name": "x", "kind": "numeric"}],
        [{"name": "x", "categories": None}],
        [{"name": "x", "categories": []}],
        [{"name": "x", "categories": "ab"}],
        [{"name": "x", "categories": ["a", 1]}],
        [{"name": "x", "categories": ["a", ["b"]]}],
        [{"name": "x", "categories": ["a", "a"]}],
        [{"name": "x", "categories": ["a"], "more": 1}],
    ],
)
def test_json_that_is_no_table(value):
    with pytest.raises(ValueError, match=r"."):
        Table.from_json(value)
