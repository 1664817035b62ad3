from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.reproduce.figures.curves import UNIT, points, read_curves
from noiselimit.reproduce.figures.histograms import BINS, SPAN, as_values, read_histograms
from noiselimit.reproduce.figures.kept import (
    Kept,
    best,
    current_kept,
    keep,
    kept_file,
    read_kept,
)
from noiselimit.reproduce.figures.suspects import Suspect, find_suspects, read_suspects
from noiselimit.reproduce.rows import ResultRow, row_of, split_line

MakeRow = Callable[..., ResultRow]
LINE = (
    "mnist,uniform,0.8,48000,limit-l,beta=10,0,400,100,mnist-cnn,bfloat16,no,200,100,0.198,2.2,0.976,0.0015,"
    "0.9989,5,,NVIDIA H200,noiselimit=0.1.0,abcdef0,2026-11-15T12:00:00+00:00"
)
SOUND = Kept(row_of(split_line(LINE)), "1 2/3 4")


def test_what_is_kept_is_read_again_by_its_run_and_the_epochs_that_it_was_allowed(
    tmp_path: Path, make_row: MakeRow
) -> None:
    path = kept_file(tmp_path, "curves")
    assert read_kept(path) == []
    first, other = Kept(make_row(), "1 2/3 4"), Kept(make_row(hyper="beta=3"), "5/6")
    keep(path, [first, other])
    assert read_kept(path) == [first, other]
    keep(path, [Kept(make_row(), "9/9")])  # as many epochs: trained once more
    assert read_kept(path) == [first, other]
    short = Kept(make_row(epochs=200), "1/1")
    keep(path, [short])
    assert read_kept(path) == [first, other, short], "its row stays as well"
    assert current_kept([short, *read_kept(path)]) == [first, other], "which figures show"


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "notes": (lambda content: b"my notes\n", "is no file of results of this version"),
    "notes without an end": (lambda content: b"my notes", "is no file of results of this version"),
    "notes below": (lambda content: content + b"my notes\n", "is damaged in line 4 "),
    "a line of notes": (lambda content: content.replace(b"\n", b"\nmy notes\n", 1), "is damaged in line 2 "),
    "a cut end": (lambda content: content[:-9], r"is damaged in line 3 \(it has no end"),
    "no last end of a line": (lambda content: content[:-1], "delete that line, or end it if nothing is"),
    "a cut header": (lambda content: content[:30], r"is damaged in line 1 \(it has no end"),
    "bytes that are no text": (lambda content: content + b"\xff\n", "cannot be read"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_none_of_ours_is_refused_and_left_as_it_is(
    tmp_path: Path, make_row: MakeRow, damage: str
) -> None:
    change, complaint = DAMAGES[damage]
    path = kept_file(tmp_path, "curves")
    keep(path, [Kept(make_row(), "1/2"), Kept(make_row(hyper="beta=3"), "3/4")])
    path.write_bytes(change(path.read_bytes()))
    before = path.read_bytes()
    for read_or_write in (
        lambda: read_kept(path),
        lambda: keep(path, [Kept(make_row(hyper="beta=30"), "5/6")]),
    ):
        with pytest.raises(InputError, match=rf"curves\.csv {complaint}|curves\.csv .*{complaint}"):
            read_or_write()
    assert path.read_bytes() == before


def test_an_empty_file_is_one_without_runs(tmp_path: Path, make_row: MakeRow) -> None:
    path = kept_file(tmp_path, "curves")
    path.parent.mkdir()
    path.touch()
    assert read_kept(path) == []
    keep(path, [Kept(make_row(), "1/2")])
    assert read_kept(path) == [Kept(make_row(), "1/2")]


@given(st.binary(max_size=40), st.integers(0, 600))
def test_no_content_is_lost(content: bytes, place: int) -> None:
    """Whatever is put wherever into a file of ours, it is refused or its runs are still there."""
    with TemporaryDirectory() as folder:
        path = kept_file(Path(folder), "curves")
        keep(path, [SOUND, replace(SOUND, values="3 4/5 6", row=replace(SOUND.row, hyper="beta=3"))])
        whole = path.read_bytes()
        path.write_bytes(whole[:place] + content + whole[place:])
        lines = path.read_bytes().decode("utf-8", "replace").splitlines()
        try:
            assert len(read_kept(path)) == len(lines) - 1
        except InputError:
            with pytest.raises(InputError):
                keep(path, [SOUND])
            assert path.read_bytes() == whole[:place] + content + whole[place:]


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
