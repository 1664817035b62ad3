"""Which columns are numbers and which are names, and how rows become features."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.columns import Categorical, Date, Identifier, Numeric, Text
from noiselimit.data.tables import Table, fit_table
from noiselimit.errors import InputError
from noiselimit.features.texts import TextFeatures

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
            "when": pd.to_datetime(["2020-01-02 00:00", "2021-05-06 07:08", None]),
        }
    )
    table = fit_table(frame, "t")
    assert table.columns == (
        Categorical("b", ("", "x", "y")),
        Numeric("a"),
        Categorical("flag", ("False", "True")),
        Numeric("maybe", 1.5),
        Categorical("level", ("hi", "lo")),
        Categorical("answer", ("", "True")),
        Date("when", "2020-01-02 00:00:00+00:00", "2021-05-06 07:08:00+00:00", True, True),
    )
    (note,) = table.notes
    assert "'empty', 'constant'" in note


@pytest.mark.parametrize(
    "values",
    [
        [f"n{i % 300}" for i in range(900)],
        [f"house number {i % 25}" for i in range(50)],
        ["red and blue", "a b", "c d e f", *"abcde"] * 5 + [""] * 10,
        2 * NUMBERS,
        ["38", "40", "XL", "42", "44"] * 10,
    ],
)
def test_names(values):
    (column,) = fit_table(pd.DataFrame({"x": values}), "t").columns
    assert column == Categorical("x", tuple(sorted(set(values))))


@pytest.mark.parametrize(
    "values",
    [
        [f"Nothing I bought {i} times ever lasted." for i in range(30)],
        [f"{i}" + 60 * "字" for i in range(30)],
        [f"a sentence of {i % 1001}" for i in range(4000)],
        [f"visit {i}" for i in range(150)],
    ],
    ids=["sentences", "no blanks", "repeated", "short"],
)
def test_free_text_is_embedded_and_kept(values):
    frame = pd.DataFrame({"x": [*values, None]})
    table = fit_table(frame, "t", TextFeatures("tf-idf"))
    (column,) = table.columns
    assert isinstance(column, Text)
    assert table.kept(frame)["text_x"].tolist()[:-1] == values
    assert "'x'" in table.notes[0]
    stored = Table.from_json(json.loads(json.dumps(table.to_json())))
    assert stored == table
    loaded = stored.with_arrays(table.arrays(), trusted=False)
    assert np.array_equal(loaded.encode(frame), table.encode(frame))
    with pytest.raises(InputError, match="'x'"):
        fit_table(frame, "t", TextFeatures("none", ("x",)))


def test_text_columns_that_the_user_names():
    frame = pd.DataFrame({"x": ["a", "b", "b"] * 9, "empty": [None] * 27})
    assert isinstance(fit_table(frame, "t", TextFeatures("tf-idf", ("x",))).columns[0], Text)
    for name in ("empty", "z"):
        with pytest.raises(InputError, match=name):
            fit_table(frame, "t", TextFeatures("tf-idf", (name,)))


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({}, "inputs"),
        ({"x": []}, "rows"),
        (pd.DataFrame(np.ones((2, 2)), columns=["x", "x"]), "'x'"),
        ({"": [1]}, "column 0"),
        ({"x": [1], 7: [1]}, "column 1"),
        ({"x": [1, 1]}, "constant"),
        ({"x": [1, 2, [3]]}, "mixed .list"),
        ({"x": [None, {"a": 1}]}, "mixed .dict"),
        ({"x": pd.to_timedelta([1], "D")}, "dates"),
        ({"x": pd.period_range("2020", periods=3, freq="D")}, "dates"),
        ({"x": [f"id{i}" for i in range(150)]}, "identifier"),
        ({"x": [["a"]] * 2, "y": [1, 2], "z": [b"a", b"b"]}, r"2 problems.*\(1\) .*'x'.*\(2\) .*'z'"),
        ({"x": [f"{i},5" for i in range(50)]}, "'0,5' in row 0"),
    ],
)
def test_columns_that_cannot_be_fitted(columns, word):
    with pytest.raises(InputError, match=rf"^t\.csv: .*{word}"):
        fit_table(pd.DataFrame(columns), "t.csv")


def test_missing_numbers_become_the_median_and_a_flag():
    frame = pd.DataFrame({"x": [1, np.nan, 4, np.inf, 3], "y": [1.0, 2, 3, 4, 6]})
    table = fit_table(frame, "t")
    assert table.columns == (Numeric("x", 3.0), Numeric("y"))
    assert "'x'" in table.notes[0]
    assert "infinite" in table.notes[0]
    assert table.encode(frame)[:, :2].tolist() == [[1, 0], [3, 1], [4, 0], [3, 1], [3, 0]]
    assert table.is_numeric.tolist() == [True, False, True]
    new = pd.DataFrame({"x": [None, 5], "y": [None, 7.0]})
    with pytest.raises(InputError, match="'y'"):
        table.encode(new)
    assert table.with_means([0, 0, 2.5]).encode(new).tolist() == [[3, 1, 2.5], [5, 0, 7]]


@pytest.mark.parametrize(
    "values",
    [
        ["2020-01-05", "2021-12-31", None, "2020-01-06"],
        [datetime.date(2020, 1, 5), datetime.date(2021, 12, 31), None, datetime.date(2020, 1, 6)],
        pd.to_datetime(["2020-01-05", "2021-12-31", None, "2020-01-06"]),
        pd.to_datetime(["2020-01-05", "2021-12-31", None, "2020-01-06"]).tz_localize("UTC"),
        ["2020/01/05", "2021-12-31T00:00:00Z", "", "2020-01-06 00:00"],
    ],
)
def test_dates(values):
    frame = pd.DataFrame({"x": values})
    table = fit_table(frame, "t")
    sunday, friday, monday = [2020, 1, 6, 0, 0], [2021, 12, 4, 726, 0], [2020, 1, 0, 1, 0]
    assert table.encode(frame).tolist() == [sunday, friday, [*monday[:4], 1], monday]
    assert [table.columns[0].show(row) for row in table.encode(frame)][:3] == [
        "2020-01-05",
        "2021-12-31",
        "missing",
    ]
    assert table.is_numeric.tolist() == [True, True, True, True, False]
    assert table.encode(pd.DataFrame({"x": ["soon", "2020-01-05"]})).tolist() == [[*monday[:4], 1], sunday]
    with pytest.raises(InputError, match="'x'"):
        table.encode(pd.DataFrame({"x": [20200105]}))


def test_hours_and_texts_that_are_no_dates():
    values = [f"2020-01-{day:02} {day}:30" for day in range(10, 20)] * 3 + ["?"]
    table = fit_table(pd.DataFrame({"x": values}), "t")
    assert table.columns[0].hour
    assert table.columns[0].missing
    assert "'x'" in table.notes[0]
    assert table.encode(pd.DataFrame({"x": values}))[0].tolist() == [2020, 1, 4, 10, 0, 0]
    few = ["2020-01-10", "2020-01-11", "?"] * 10
    assert fit_table(pd.DataFrame({"x": few}), "t").columns == (Categorical("x", tuple(sorted(set(few)))),)


@pytest.mark.parametrize(
    "values",
    [
        [f"{number:08x}-{number:04x}" for number in range(150)],
        [f"P-{row % 148}" for row in range(150)],
        [f"P-{row}" for row in range(20)],
        range(7, 150),
    ],
    ids=["uuid", "nearly", "few", "numbers"],
)
def test_identifiers_are_no_inputs_but_kept(values):
    frame = pd.DataFrame({"key": values, "x": np.arange(len(values)) % 7})
    table = fit_table(frame, "t")
    assert table.columns == (Identifier("key"), Numeric("x"))
    assert "'key'" in table.notes[0]
    assert table.encode(frame[["x"]]).shape == (len(frame), 1)
    assert table.kept(frame)["id_key"].tolist() == list(values)
    assert table.kept(frame[["x"]]) == {}
    assert Table.from_json(table.to_json()) == table


def test_numbers_among_words():
    values = [*NUMBERS, "?", None, "1e99"]
    frame = pd.DataFrame({"x": values})
    table = fit_table(frame, "t")
    assert table.columns == (Numeric("x", 24.5, ("?",)),)
    features = table.encode(frame)
    assert features[[7, 50, 51, 52]].tolist() == [[7, 0, 0], [24.5, 1, 1], [24.5, 1, 0], [24.5, 1, 0]]
    assert [table.columns[0].show(row) for row in features[[7, 50, 51]]] == ["7", "?", "missing"]
    assert table.encode(pd.DataFrame({"x": [3, "new"]})).tolist() == [[3, 0, 0], [24.5, 1, 0]]
    assert Table.from_json(json.loads(json.dumps(table.to_json()))) == table
    many = fit_table(pd.DataFrame({"x": [*NUMBERS * 10, *(f"w{word}" for word in range(30))]}), "t")
    assert many.columns == (Numeric("x", 24.5, ()),)
    assert "'x'" in many.notes[0]
    assert many.encode(pd.DataFrame({"x": ["w1"]})).tolist() == [[24.5, 1]]
    assert fit_table(pd.DataFrame({"x": ["a", 1, 1.5]}), "t").columns == (
        Categorical("x", ("1", "1.5", "a")),
    )


def test_very_many_names_are_hashed():
    towns = [f"town{row % 1200:04}" for row in range(4000)] + ["Rome"] * 9 + [None] * 2
    table = fit_table(pd.DataFrame({"x": towns}), "t")
    (column,) = table.columns
    assert {"Rome", ""} < set(column.categories)
    assert (len(column.categories), column.hashed) == (200, 32)
    assert Table.from_json(json.loads(json.dumps(table.to_json()))) == table
    rome, town, near, other, empty = table.encode(
        pd.DataFrame({"x": ["Rome", "town0999", "town0998", "Ω", None]})
    )
    assert (rome.sum(), np.abs(rome[200:]).sum(), empty.sum()) == (1, 0, 1)
    assert np.linalg.norm(town[200:]) == pytest.approx(1)
    assert town @ near > 0.5 > abs(town @ other)
