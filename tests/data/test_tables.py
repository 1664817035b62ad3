"""Which columns are numbers and which are names, and how rows become features."""

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
    """Tables of a few numbers and names, some cells of the latter empty."""
    rows = draw(st.integers(1, 12))
    names = draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=4, unique=True))
    number = st.floats(-1e6, 1e6, width=32) | st.integers(-1000, 1000)
    text = st.text(st.characters(codec="utf-8"), max_size=3)
    columns = {}
    for name in names:
        cells = draw(st.sampled_from([number, text | st.none(), st.booleans()]))
        values = draw(st.lists(cells, min_size=rows, max_size=rows))
        columns[name] = pd.Series(values, dtype=None if cells is number else object)
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
    start = 0
    for column in table.columns:  # a row of names has exactly one of those that the table was fitted on
        if isinstance(column, Categorical):
            assert (features[:, start : start + len(column.categories)].sum(1) == 1).all()
            start += len(column.categories)
        else:
            assert np.array_equal(features[:, start], frame[column.name].astype(np.float32))
            start += 1


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"age": None}, "no column .*'age'"),
        ({"age": [1, np.nan, 2]}, "'age' .*row 1"),
        ({"age": ["1", "", "2"]}, "'age' .*row 1"),
        ({"age": [1, 2, np.inf]}, "'age' is inf.*row 2"),
        ({"age": [1e39, 1, 2]}, r"'age' is 1e\+39.*row 0"),
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


def test_two_columns_of_the_same_name():
    with pytest.raises(InputError, match="'age'"):
        TABLE.encode(pd.concat([FRAME, FRAME[["age"]]], axis=1))
    with pytest.raises(InputError, match="'x'"):
        fit_table(pd.DataFrame(np.ones((2, 2)), columns=["x", "x"]), "t")


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


def test_kinds_and_order_of_columns():
    frame = pd.DataFrame(
        {
            "b": ["y", "x", None],
            "a": [1, 2, 3],
            "flag": [True, False, True],
            "maybe": pd.array([1, None, 2], dtype="Int64"),
            "level": pd.Categorical(["lo", "hi", "lo"], categories=["lo", "hi", "never"]),
            "empty": [None, None, None],
            "constant": 5.0,
            "answer": pd.array([True, None, True], dtype="boolean"),
        }
    )
    assert fit_table(frame, "t").columns == (
        Categorical("b", ("", "x", "y")),
        Numeric("a"),
        Categorical("flag", ("False", "True")),
        Numeric("maybe"),
        Categorical("level", ("hi", "lo")),
        Categorical("empty", ("",)),
        Numeric("constant"),
        Categorical("answer", ("", "True")),
    )


@pytest.mark.parametrize(
    "values",
    [
        [f"n{i % 300}" for i in range(900)],
        [f"house number {i % 25}" for i in range(50)],
        ["red and blue", "a b", "c d e f", *"abcde"] * 5 + [""] * 10,
        NUMBERS,
        ["38", "40", "XL", "42", "44"] * 10,
    ],
)
def test_names(values):
    (column,) = fit_table(pd.DataFrame({"x": values}), "t").columns
    assert column == Categorical("x", tuple(sorted(set(values))))


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({}, "inputs"),
        ({"x": []}, "rows"),
        ({"": [1]}, "column 0"),
        ({"x": [1], 7: [1]}, "column 1"),
        ({"x": ["a", 1]}, "mixed"),
        ({"x": pd.to_timedelta([1], "D")}, "dates"),
        ({"x": [f"id{i}" for i in range(150)]}, "identifier.*--ignore"),
        ({"x": [f"Nothing I bought {i} times ever lasted." for i in range(30)]}, "free text.*--ignore"),
        ({"x": [f"{i}" + 60 * "字" for i in range(30)]}, "free text"),
        ({"x": [f"a sentence of {i % 1001}" for i in range(4000)]}, "free text"),
        ({"x": [f"id{i % 1001}" for i in range(4000)]}, "1001 .*--ignore"),
        ({"x": pd.Categorical([f"id{i}" for i in range(1001)])}, "1001 "),
        ({"x": [*NUMBERS, "?"]}, r"'\?' in row 50"),
        ({"x": [f"{i},5" for i in range(50)]}, "'0,5' in row 0"),
    ],
)
def test_columns_that_cannot_be_fitted(columns, word):
    with pytest.raises(InputError, match=rf"^t\.csv: .*{word}"):
        fit_table(pd.DataFrame(columns), "t.csv")
