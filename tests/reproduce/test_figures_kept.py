from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.reproduce.figures.curves import UNIT, points, read_curves
from noiselimit.reproduce.figures.histograms import BINS, SPAN, as_values, read_histograms
from noiselimit.reproduce.figures.kept import Kept, best, keep, kept_file, read_kept
from noiselimit.reproduce.figures.suspects import Suspect, find_suspects, read_suspects
from noiselimit.reproduce.rows import ResultRow

MakeRow = Callable[..., ResultRow]


def test_what_is_kept_is_read_again_and_replaced_by_more_epochs(tmp_path: Path, make_row: MakeRow) -> None:
    path = kept_file(tmp_path, "curves")
    assert read_kept(path) == []
    first, other = Kept(make_row(), "1 2/3 4"), Kept(make_row(hyper="beta=3"), "5/6")
    keep(path, [first, other])
    assert read_kept(path) == [first, other]
    keep(path, [Kept(make_row(epochs=10), "9/9")])  # fewer epochs than were allowed before
    assert first in read_kept(path)
    keep(path, [Kept(make_row(), "9/9")])  # as many: trained once more
    assert read_kept(path) == [first, other]
    short = Kept(make_row(epochs=200, hyper="beta=30"), "1/1")
    longer = Kept(make_row(hyper="beta=30"), "7 7/8 8")
    keep(path, [short])
    keep(path, [longer])
    assert read_kept(path) == [first, other, longer]


def test_a_torn_line_costs_that_line_only(tmp_path: Path, make_row: MakeRow) -> None:
    path = kept_file(tmp_path, "curves")
    keep(path, [Kept(make_row(), "1/2"), Kept(make_row(hyper="beta=3"), "3/4")])
    text = path.read_text("utf-8")
    path.write_text(text[: text.rindex("no,")], "utf-8")
    assert [one.values for one in read_kept(path)] == ["1/2"]


def test_the_best_run_has_the_highest_accuracy_then_the_lowest_loss(make_row: MakeRow) -> None:
    low, high, tie, failed = (
        Kept(make_row(validation_accuracy=accuracy, validation_loss=loss, failure=failure), "")
        for accuracy, loss, failure in ((0.2, 0.1, ""), (0.3, 2.0, ""), (0.3, 1.0, ""), (0.9, 0.0, "NaN"))
    )
    assert best([low, high, tie, failed]) is tie
    assert best([failed]) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_smoothed_curves_stay_between_their_extremes(curve: list[float]) -> None:
    smooth = points(curve)
    assert [epoch for epoch, _ in smooth] == list(range(1, len(curve) + 1))
    assert all(min(curve) - 1e-9 <= y <= max(curve) + 1e-9 for _, y in smooth)
    assert points(curve, smoothed=1) == list(enumerate(curve, 1))


def test_curves_and_histograms_are_read_from_their_text(make_row: MakeRow) -> None:
    curves = read_curves(Kept(make_row(), "1000 2000/9712"))
    assert (curves.train, curves.test) == ((0.1, 0.2), (9712 / UNIT,))
    assert read_curves(Kept(make_row(), "1000/2000/" + "9000 " + "1000 " * 5)).last_validation == 0.1
    parts = [[row * 10 + (bin_ % 3) for bin_ in range(BINS)] for row in range(4)]
    found = read_histograms(Kept(make_row(), "/".join(" ".join(map(str, part)) for part in parts)))
    assert [*found.norms.tolist(), *found.gaps.tolist()] == parts


@given(st.lists(st.integers(0, 5), min_size=BINS, max_size=BINS))
def test_values_of_counts_give_the_counts_again(counts: list[int]) -> None:
    import numpy as np

    values = as_values(np.array(counts))
    assert np.histogram(values, BINS, SPAN)[0].tolist() == counts


def test_suspects_are_the_largest_gaps_of_each_given_class_but_not_of_the_test_part() -> None:
    pd = pytest.importorskip("pandas")
    outputs = pd.DataFrame(
        {
            "index": range(8),
            "part": ["train", "validation", "test", "train", "train", "train", "validation", "train"],
            "given_label": [0, 0, 0, 1, 1, 1, 1, 0],
            "suggested_label": [1, 0, 1, 0, 0, 1, 0, 0],
            "gap": [0.1, 0.9, 1.3, 0.2, 1.1, 0.3, 0.3, 0.5],
        }
    )
    found = find_suspects(outputs, 2)
    assert [one.index for one in found] == [1, 7, 4, 5]  # 5 and 6 tie: the first
    assert found[2] == Suspect(4, 1, 0, 1.1)


def test_suspects_are_read_from_their_text(make_row: MakeRow) -> None:
    kept = Kept(replace(make_row(), p=0.0), "12:3:5:1.2500 7:3:3:0.5000")
    assert read_suspects(kept) == [Suspect(12, 3, 5, 1.25), Suspect(7, 3, 3, 0.5)]
