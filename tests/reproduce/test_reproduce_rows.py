"""Rows as lines, and files of them that crashes and other machines had a part in."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.reproduce.result import commit_text
from noiselimit.reproduce.rows import HEADER, ResultRow, current_rows, hyper_text, line_of, row_of
from noiselimit.reproduce.rows_file import append_rows, is_rows_file, read_rows

SHARES = st.none() | st.integers(0, 10**6).map(lambda count: count / 10**6)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=8)
COUNTS = st.integers(0, 10**6)
ROWS = st.builds(
    ResultRow,
    **{
        field.name: {
            "str": WORDS,
            "int": COUNTS,
            "bool": st.booleans(),
            "float": COUNTS.map(float),
            "float | None": SHARES,
            "int | None": st.none() | COUNTS,
        }[getattr(field.type, "__name__", str(field.type))]
        for field in dataclasses.fields(ResultRow)
    },
)


@given(ROWS)
def test_a_row_is_the_same_after_writing_and_reading(row):
    import csv

    assert row_of(next(csv.reader([line_of(row)]))) == row


@pytest.mark.parametrize("line", ["", "mnist", ",".join(["x"] * len(HEADER.split(",")))])
def test_what_is_no_row_is_a_value_error(line):
    with pytest.raises(ValueError):  # noqa: PT011  # csv's, int's and ours alike
        row_of(line.split(","))


def test_more_epochs_count_then_what_was_there_first(make_row):
    short = make_row(epochs=15, date="2026-11-16")
    long, later = make_row(date="2026-11-15"), make_row(date="2026-11-17", test_accuracy=0.5)
    other = make_row(seed=1)
    assert current_rows([short, long, later, other]) == [long, other]
    assert current_rows([later, long, short]) == [later]


def test_a_run_that_stopped_by_itself_serves_any_limit(make_row):
    assert make_row(epochs=150, epochs_run=120).serves(400)
    assert not make_row(epochs=150, epochs_run=150).serves(400)
    assert make_row(epochs=150, epochs_run=150).serves(100)
    assert make_row(epochs=150, epochs_run=150, failure="loss").serves(400)


def test_hyper_parameters_as_text():
    assert hyper_text({"beta": 10.0, "sigma": 0.03}) == "beta=10 sigma=0.03"


def test_a_row_says_whether_the_source_was_changed_since_its_commit(tmp_path, make_row):
    commit = "0123456789abcdef"
    assert commit_text(commit, True) == "0123456789+"
    assert commit_text(commit, False) == commit_text(commit, None) == "0123456789"
    assert commit_text(None, None) == ""
    rows = [make_row(seed=seed, commit=text) for seed, text in enumerate(("0123456789+", "0123456789", ""))]
    append_rows(tmp_path / "mnist.csv", rows)
    assert read_rows(tmp_path / "mnist.csv") == rows


def test_rows_are_appended_and_a_torn_line_is_replaced(tmp_path, make_row):
    path = tmp_path / "new" / "mnist.csv"
    append_rows(path, [make_row(seed=0)])
    with path.open("a") as file:
        file.write("mnist,uniform,0.8,4800")
    assert [row.seed for row in read_rows(path)] == [0]
    append_rows(path, [make_row(seed=1), make_row(seed=2)])
    assert [row.seed for row in read_rows(path)] == [0, 1, 2]
    assert path.read_text().splitlines()[0] == HEADER
    assert len(path.read_text().splitlines()) == 4


def test_a_torn_header_is_replaced_too(tmp_path, make_row):
    path = tmp_path / "mnist.csv"
    path.write_text(HEADER[:30])
    assert read_rows(path) == []
    append_rows(path, [make_row()])
    assert read_rows(path) == [make_row()]


def test_other_files_and_damaged_lines_are_told_of(tmp_path, make_row):
    path = tmp_path / "mnist.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no file of results"):
        read_rows(path)
    assert not is_rows_file(path)
    path.write_text(f"{HEADER}\n{line_of(make_row())}\nmnist,5\n{line_of(make_row())}\n")
    with pytest.raises(InputError, match="line 3"):
        read_rows(path)
