"""What a column is taken for, and what its values become."""

import datetime
import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from noiselimit.data.columns import Categorical, Date, Identifier, Numeric, Text
from noiselimit.data.fitting import fit_table
from noiselimit.data.tables import Table
from noiselimit.errors import InputError, Notice
from noiselimit.features.texts import TextFeatures

NUMBERS = [str(number) for number in range(50)]


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
        [f"visited {i} times" for i in range(150)],
        [f"第{i}次来这家店味道很好" for i in range(150)],
        [f"อาหารร้านนี้อร่อยมาก {i}" for i in range(150)],
    ],
    ids=["sentences", "no blanks", "repeated", "short", "Chinese", "Thai"],
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
        (pd.DataFrame(np.ones((2, 4)), columns=["x", "y", "x", "y"]), "'x', 'y'"),
        ({"": [1]}, "column 0"),
        ({"x": [1], 7: [1]}, "column 1"),
        ({"x": [1, 1]}, "constant"),
        ({"x": [1, 2, [3]]}, "mixed .list"),
        ({"x": [None, {"a": 1}]}, "mixed .dict"),
        ({"x": pd.to_timedelta([1], "D")}, "dates"),
        ({"x": pd.period_range("2020", periods=3, freq="D")}, "dates"),
        ({"x": [f"id{i}" for i in range(150)]}, "identifier"),
        ({"x": [["a"]] * 2, "y": [1, 2], "z": [b"a", b"b"]}, r"2 problems.*\(1\) .*'x'.*\(2\) .*'z'"),
        ({"x": [f"{i}.5" for i in range(50)] + ["7,5"]}, "'7,5' in row 50"),
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
        [f"{number:,}" for number in range(1001, 1150)],
        [f"+49 170 {number:04} {number:03}" for number in range(150)],
        [hashlib.sha256(bytes([number])).hexdigest() for number in range(150)],
        [f"https://shop.example.org/a-long-path/of-some-depth/{number}.html" for number in range(150)],
    ],
    ids=["uuid", "nearly", "few", "numbers", "thousands", "phone", "hash", "url"],
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


@pytest.mark.parametrize(
    ("form", "decimal"),
    [("${:,.2f}", "."), ("{:.1f} %", "."), ("{:,.0f}", "."), ("{:,.2f} €", ",")],
)
def test_numbers_with_units_and_thousands(form, decimal):
    numbers = 1000.5 * (1 + np.arange(50) * 7 % 50)
    swap = str.maketrans({".": decimal, ",": "." if decimal == "," else ","})
    values = [form.format(number).translate(swap) for number in numbers]
    frame = pd.DataFrame({"x": values})
    table = fit_table(frame, "t")
    assert table.columns == (Numeric("x", decimal=decimal),)
    np.testing.assert_allclose(table.encode(frame)[:, 0], numbers, atol=0.5)
    assert Table.from_json(json.loads(json.dumps(table.to_json()))) == table
    (gaps,) = fit_table(pd.DataFrame({"x": [*values, None, "n/a"]}), "t").columns
    assert (gaps.words, gaps.decimal, gaps.width) == (("n/a",), decimal, 3)


@pytest.mark.parametrize(
    ("form", "day_first"),
    [("%d.%m.%Y", None), ("%d/%m/%Y", True), ("%m/%d/%Y", False), ("%d %b %Y", None)],
)
def test_dates_in_other_orders(form, day_first):
    dates = pd.DataFrame({"x": pd.date_range("2020-01-05", periods=40, freq="9D")})
    frame = pd.DataFrame({"x": dates["x"].dt.strftime(form)})
    table = fit_table(frame, "t")
    assert (table.columns[0].day_first, table.notes) == (day_first, ())
    assert np.array_equal(table.encode(frame), table.encode(dates))
    assert Table.from_json(json.loads(json.dumps(table.to_json()))) == table
    few = pd.DataFrame({"x": ["01/02/2020", "03/04/2020"]})
    unclear = fit_table(few, "t")
    assert "'x': day or month" in unclear.notes[0]
    assert unclear.encode(few)[:, 1].tolist() == [1, 3]
    assert fit_table(few.assign(x=["01/02/2020", "01/04/2020"]), "t").columns[0].day_first
    assert fit_table(pd.DataFrame({"x": ["01/02/2020", "03/04/2020", "later"]}), "t").notes == ()


def test_new_cells_that_cannot_be_read_are_counted():
    frame = pd.DataFrame(
        {"x": [*NUMBERS, "?"], "day": pd.date_range("2020-01-01", periods=51).astype(str)},
    )
    table = fit_table(frame, "t")
    new = pd.DataFrame({"x": ["?", "new", "3", None], "day": ["soon", None, "2020-01-05", "5/1/2020"]})
    with pytest.warns(Notice) as warned:
        features = table.encode_new(new, "new.csv")
    assert np.array_equal(features, table.encode(new))
    assert [str(each.message)[:37] for each in warned] == [
        "new.csv: column 'x': 1 of 4 cells can",
        "new.csv: column 'day': 2 of 4 cells c",
    ]


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
