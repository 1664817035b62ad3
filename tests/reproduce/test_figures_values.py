"""What drawing would stumble over is no value: refused in files of ours and in others'."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.reproduce.figures.curves import UNIT, read_curves
from noiselimit.reproduce.figures.harvest import KEEPERS
from noiselimit.reproduce.figures.histograms import as_values, read_histograms
from noiselimit.reproduce.figures.kept import Kept, keep, kept_file, read_arriving, read_kept
from noiselimit.reproduce.figures.suspects import read_suspects
from noiselimit.reproduce.figures.values import ACCURACIES, BINS, FORMS, check_values
from noiselimit.reproduce.merging.all import merge_results
from noiselimit.reproduce.rows_file import append_rows, rows_path

RESULTS = Path(__file__).parents[2] / "results" / "reproduce"
EMPTY = " ".join(["0"] * BINS)
GOOD = {
    "curves": ["1/2", "1 2/3 4", "0 10000/1 2/3 4"],
    "histograms": ["/".join([EMPTY] * 4)],
    "suspects": ["1:0:2:1.3", "1:0:2:1.3000 7:1:1:0.5"],
}
BAD = {
    "curves": ["", "abc", "1 2 3", "/", "//", "1/2 3", "1/2/3/4", "1/x", "-1/2", "1.5/2", "10001/1", "1_0/1"],
    "histograms": [
        "",
        "1/2",
        "/".join([EMPTY] * 3),
        "/".join([EMPTY] * 5),
        f"{EMPTY}/{EMPTY}/{EMPTY}/{EMPTY} 0",
    ]
    + [f"{EMPTY}/{EMPTY}/{EMPTY}/{EMPTY[:-1]}{last}" for last in ("x", "-1", "99999999999")],
    "suspects": ["", "1", "1:2:3", "1:2:3:x", "1:2:3:nan", "1:-2:3:0.5", "1:2:3:0.5:6"],
}
EACH_BAD = [(kind, values) for kind, every in BAD.items() for values in every]


def draw(kind, kept):
    """Read as drawing reads it."""
    if kind == "curves":
        curves = read_curves(kept)
        return curves.train[-1], curves.test[-1], curves.validation and curves.last_validation
    if kind == "histograms":
        found = read_histograms(kept)
        return [as_values(counts) for counts in (*found.norms, *found.gaps)]
    return read_suspects(kept)


def test_there_is_a_form_for_all_that_is_kept():
    assert set(FORMS) == set(KEEPERS) == set(GOOD) == set(BAD)
    assert ACCURACIES == UNIT


@pytest.mark.parametrize(("kind", "values"), EACH_BAD)
def test_bad_values_are_refused_here_and_from_elsewhere(tmp_path, make_row, kind, values):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    good, bad = Kept(make_row(), GOOD[kind][0]), Kept(make_row(hyper="beta=3"), values)
    keep(kept_file(here, kind), [good])
    keep(kept_file(elsewhere, kind), [good, bad])
    append_rows(rows_path(elsewhere, "mnist"), [make_row()])
    complaint = rf"{kind}\.csv is damaged in line 3 \(.*delete that line"
    for named in (elsewhere, kept_file(elsewhere, kind)):
        with pytest.raises(InputError, match=complaint) as caught:
            merge_results([named], here)
        assert "\n" not in str(caught.value)
    assert read_kept(kept_file(here, kind)) == [good]
    for read in (lambda: read_kept(kept_file(elsewhere, kind)), lambda: merge_results([here], elsewhere)):
        with pytest.raises(InputError, match=complaint):
            read()


@pytest.mark.parametrize("kind", GOOD)
def test_good_values_are_merged_and_drawn(tmp_path, make_row, kind):
    for number, values in enumerate(GOOD[kind]):
        kept = Kept(make_row(), values)
        keep(kept_file(tmp_path / str(number), kind), [kept])
        assert read_arriving(kept_file(tmp_path / str(number), kind)) == [kept]
        draw(kind, kept)


@given(st.sampled_from(sorted(FORMS)), st.text("0123456789 /:.-+e_ax", max_size=30))
def test_what_passes_can_be_drawn(kind, text):
    try:
        check_values(kind, text)
    except ValueError:
        return
    draw(kind, Kept(None, text))


def test_rows_of_figures_are_checked_too_and_a_torn_end_is_passed_over(tmp_path, make_row):
    path = kept_file(tmp_path, "curves")
    keep(path, [Kept(make_row(), "1/2"), Kept(make_row(hyper="beta=3"), "3/4")])
    path.write_text(path.read_text()[:-1])
    assert [one.values for one in read_arriving(path)] == ["1/2"]
    path.unlink()
    keep(path, [Kept(make_row(), "1/2"), Kept(make_row(data="../escaped"), "1/2")])
    with pytest.raises(InputError, match=r"line 3 \(data is '../escaped'"):
        read_arriving(path)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("curves", b"a,b\n1,2\n", "its first line is another: move it away, or name another place"),
        ("curves", b"\xff\n", "cannot be read"),
        ("other", b"a,b\n1,2\n", "there are curves.csv, histograms.csv, suspects.csv"),
    ],
)
def test_other_files_are_told_of(tmp_path, name, content, complaint):
    path = kept_file(tmp_path, name)
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        read_arriving(path)


@pytest.mark.parametrize("kind", FORMS)
def test_what_is_kept_here_is_sound(kind):
    assert read_kept(kept_file(RESULTS, kind)) == read_arriving(kept_file(RESULTS, kind)) != []
