"""Numbers and dates as people write them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.cells import parse_dates, parse_numbers


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("25,801", ".", 25801),
        ("25 801.5", ".", 25801.5),
        ("1'234'567", ".", 1234567),
        ("$1,234.50", ".", 1234.5),
        ("-€5", ".", -5),
        ("($1,234)", ".", -1234),
        ("−5 %", ".", -5),
        ("1e5", ".", 1e5),
        ("2.968,72", ",", 2968.72),
        ("25\u202f801", ",", 25801),
        ("-3,5 %", ",", -3.5),
        ("1.234", ",", 1234),
        ("7,00 EUR", ",", 7),
        *((text, ".", np.nan) for text in ("1,5", "12 kg", "030 123 456", "", "$", "5-10", "1,23,456")),
        *((text, ",", np.nan) for text in ("1.5", "1,234.5", "")),
    ],
)
def test_numbers(text, decimal, number):
    np.testing.assert_equal(parse_numbers([text], decimal), [number])


@given(st.floats(-1e9, 1e9).map(lambda number: round(number, 2)))
def test_numbers_are_read_back_in_both_notations(number):
    english = f"{number:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert parse_numbers([english])[0] == parse_numbers([german], ",")[0] == number


@pytest.mark.parametrize(
    "text",
    [
        *("04.03.2021", "4.3.21", "3/4/2021", "3/4/21", "03-04-2021", "2021/3/4", "2021年3月4日"),
        *("4 Mar 2021", "04-Mar-21", "4. März 2021", "March 4, 2021", "Thu, 4 Mar 2021", "4th March 2021"),
    ],
)
@pytest.mark.parametrize(("clock", "hour"), [("", 0), (" 16:36", 16), (" 4:36:05 PM", 16), (" 12:05 AM", 0)])
def test_dates(text, clock, hour):
    (found,) = parse_dates([text + clock], day_first=False)
    assert (found.date(), found.hour) == (pd.Timestamp("2021-03-04").date(), hour)


@pytest.mark.parametrize(
    "text",
    ["13/2/2021", "31.02.2021", "00.00.0000", "1.2.3", "10.0.0.1", "03-04-21", "Room 12 2021", "", "7"],
)
def test_texts_that_are_no_dates(text):
    assert parse_dates([text], day_first=False).isna().all()


@given(st.dates(pd.Timestamp("1900-01-01").date(), pd.Timestamp("2199-12-31").date()))
def test_day_or_month_may_come_first(date):
    for day_first, form in ((True, "%d/%m/%Y"), (False, "%m/%d/%Y")):
        (found,) = parse_dates([date.strftime(form)], day_first)
        assert found.date() == date
    assert parse_dates([date.strftime("%d/%m/%Y")]).isna().all()
