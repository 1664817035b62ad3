"""Which columns are numbers, which are names, and which are neither."""

import numpy as np
import pandas as pd
import pytest

from noiselimit.data.tables import Categorical, Numeric, Table, fit_table
from noiselimit.errors import InputError

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
        }
    )
    assert fit_table(frame, "t") == Table(
        (
            Categorical("b", ("", "x", "y")),
            Numeric("a"),
            Categorical("flag", ("False", "True")),
            Numeric("maybe"),
            Categorical("level", ("hi", "lo")),
            Categorical("empty", ("",)),
            Numeric("constant"),
            Categorical("answer", ("", "True")),
        )
    )


def test_many_names_are_fine_where_they_repeat():
    column = fit_table(pd.DataFrame({"x": [f"n{i % 300}" for i in range(900)]}), "t").columns[0]
    assert isinstance(column, Categorical)
    assert len(column.categories) == 300


def test_names_of_several_words_are_names_where_they_repeat_or_are_few():
    frame = pd.DataFrame(
        {
            "x": [f"house number {i % 25}" for i in range(50)],
            "y": ["red and blue", "a b", "c d e f", *"abcde"] * 5 + [""] * 10,
        }
    )
    assert all(isinstance(column, Categorical) for column in fit_table(frame, "t").columns)


def test_spelled_numbers_are_names_where_all_are_numbers_or_few_differ():
    codes = pd.DataFrame({"code": NUMBERS, "size": ["38", "40", "XL", "42", "44"] * 10})
    assert fit_table(codes, "t").columns[1] == Categorical("size", ("38", "40", "42", "44", "XL"))
    assert isinstance(fit_table(codes, "t").columns[0], Categorical)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({}, "there is no column beside the labels; add the inputs"),
        ({"x": []}, "there are no rows; add examples"),
        ({"": [1]}, "column 0 has no name; give it one or remove it"),
        ({"x": [1], 7: [1]}, "column 1 has no name"),
        ({"x": ["a", 1]}, "column 'x' mixes numbers and text; turn it into one or the other"),
        ({"x": pd.Series(["\ud800"], dtype=object)}, "column 'x' holds text that is not valid Unicode"),
        ({"x": pd.to_timedelta([1], "D")}, "column 'x' holds dates or times"),
        (
            {"x": [f"id{i}" for i in range(150)]},
            "column 'x' has 150 different values in 150 rows and looks like an identifier; remove it",
        ),
        (
            {"x": [f"Nothing I bought {i} times ever lasted." for i in range(30)]},
            "column 'x' holds text, which must become numbers first; embed it, as with Sentence.* or remove",
        ),
        ({"x": [f"{i}" + 60 * "字" for i in range(30)]}, "column 'x' holds text"),
        ({"x": [f"a sentence of {i % 1001}" for i in range(4000)]}, "column 'x' holds text"),
        (
            {"x": [f"id{i % 1001}" for i in range(4000)]},
            "column 'x' has 1001 different values, more than 1000; join the rare ones",
        ),
        (
            {"x": pd.Categorical([f"id{i}" for i in range(1001)])},
            "column 'x' has 1001 different values, more than 1000",
        ),
        ({"x": [*NUMBERS, "?"]}, r"column 'x' holds numbers but '\?' in row 50; write a number"),
        ({"x": [f"{i},5" for i in range(50)]}, "column 'x' holds numbers but '0,5' in row 0"),
    ],
)
def test_what_cannot_be_fitted(columns, sentence):
    with pytest.raises(InputError, match=f"^t.csv: {sentence}"):
        fit_table(pd.DataFrame(columns), "t.csv")


def test_two_columns_of_one_name():
    with pytest.raises(InputError, match="two columns are called 'x'; rename or remove one"):
        fit_table(pd.DataFrame(np.ones((2, 2)), columns=["x", "x"]), "t")


def test_a_name_that_no_file_can_keep():
    frame = pd.DataFrame([[1]], columns=pd.Index(["\ud800"], dtype=object))
    with pytest.raises(InputError, match="holds text that is not valid Unicode"):
        fit_table(frame, "t")
