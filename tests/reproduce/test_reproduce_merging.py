"""Results made elsewhere: each row once, and sheets of pictures beside the run that they are of."""

import pytest

from noiselimit.errors import InputError, Notice
from noiselimit.reproduce.figures.kept import Kept, best, keep, kept_file, read_kept
from noiselimit.reproduce.merging import merge_results
from noiselimit.reproduce.rows import current_rows
from noiselimit.reproduce.rows_file import append_rows, read_rows, rows_path

SUSPECTS = "figures/suspects.csv"
FIRST, SECOND = "figures/suspicious-mnist-1.png", "figures/suspicious-mnist-2.png"


def test_results_made_elsewhere_are_merged_once(tmp_path, make_row):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    append_rows(rows_path(here, "mnist"), [make_row(seed=0)])
    append_rows(rows_path(elsewhere, "mnist"), [make_row(seed=0), make_row(seed=1)])
    single = tmp_path / "single.csv"
    append_rows(single, [make_row(data="cifar10", p=0.4, n=40_000)])
    keep(kept_file(elsewhere, "curves"), [Kept(make_row(), "1 2 3/4 5 6")])
    gained = {"mnist.csv": 1, "cifar10.csv": 1, "figures/curves.csv": 1}
    assert merge_results([elsewhere, single, single], here) == gained
    again = merge_results([elsewhere, single], here)
    assert set(again.values()) == {0}
    assert [row.seed for row in read_rows(rows_path(here, "mnist"))] == [0, 1]
    assert len(read_rows(rows_path(here, "cifar10"))) == 1
    assert read_kept(kept_file(here, "curves"))[0].values == "1 2 3/4 5 6"
    keep(kept_file(elsewhere, "curves"), [Kept(make_row(test_accuracy=0.5), "7 8 9/4 5 6")])
    merge_results([elsewhere], here)
    assert read_kept(kept_file(here, "curves"))[0].values == "1 2 3/4 5 6"  # as its row
    with pytest.raises(InputError, match="no file or folder"):
        merge_results([tmp_path / "none.csv"], here)


def test_a_run_that_is_here_with_another_outcome_stays_and_that_is_said(tmp_path, make_row):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    own, longer = make_row(epochs=200), make_row(seed=1)
    later = {"test_accuracy": 0.5, "date": "2026-11-17T12:00:00+00:00"}
    append_rows(rows_path(here, "mnist"), [own, make_row(seed=1, epochs=300)])
    append_rows(
        rows_path(elsewhere, "mnist"),
        [make_row(epochs=200, **later), make_row(epochs=200, precision="float32"), own, longer],
    )
    with pytest.warns(
        Notice, match=r"mnist\.csv has 1 of these runs with another outcome, and keeps its own"
    ):
        assert merge_results([elsewhere], here) == {"mnist.csv": 1}
    assert current_rows(read_rows(rows_path(here, "mnist"))) == [own, longer]


def test_of_rows_that_contradict_each_other_the_first_is_added_and_that_is_said(tmp_path, make_row):
    single, other = tmp_path / "single.csv", tmp_path / "other.csv"
    later = {"test_accuracy": 0.5, "date": "2026-11-17T12:00:00+00:00"}
    append_rows(single, [make_row(seed=1), make_row(), make_row(), make_row(**later)])
    append_rows(other, [make_row(seed=1, **later)])
    said = "has in line 5 another outcome of the run in line 3, and the latter was added"
    with pytest.warns(Notice) as notices:
        assert merge_results([single], tmp_path / "here") == {"mnist.csv": 2}
    assert [str(notice.message) for notice in notices] == [f"{single} {said}."]
    assert read_rows(rows_path(tmp_path / "here", "mnist")) == [make_row(seed=1), make_row()]
    with pytest.warns(Notice) as notices:
        assert merge_results([single, other], tmp_path / "there") == {"mnist.csv": 2}
    assert [str(notice.message) for notice in notices] == [
        f"{single} {said}; 1 more row was left out likewise."
    ]
    with pytest.warns(Notice) as notices:
        assert merge_results([other, single], tmp_path / "third") == {"mnist.csv": 2}
    assert str(notices[0].message).startswith(
        f"{single} has in line 2 another outcome of the run in line 2 of {other}, and the latter was added;"
    )


def test_nothing_is_added_where_what_figures_keep_here_is_damaged(tmp_path, make_row):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    append_rows(rows_path(elsewhere, "mnist"), [make_row()])
    keep(kept_file(elsewhere, "curves"), [Kept(make_row(), "1/2")])
    path = kept_file(here, "curves")
    path.parent.mkdir(parents=True)
    path.write_text("my notes\n")
    with pytest.raises(InputError, match=r"here/figures/curves\.csv is no file of results of this version"):
        merge_results([elsewhere], here)
    assert path.read_text() == "my notes\n"
    assert not rows_path(here, "mnist").exists()


@pytest.mark.parametrize("named", [".", "mnist.csv"])
def test_files_in_a_folder_are_treated_as_those_that_are_named(tmp_path, make_row, named):
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    path = rows_path(elsewhere, "mnist")
    append_rows(path, [make_row()])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (elsewhere / "._mnist.csv").write_bytes(b"\x00\x05\x16\x07")  # some systems' copying leaves these
    assert merge_results([elsewhere / named], here) == {"mnist.csv": 1}
    for text in ("a,b\n1,2\n", "no end"):
        path.write_text(text)
        with pytest.raises(InputError, match=r"mnist\.csv is no file of results of this version"):
            merge_results([elsewhere / named], here)


def test_a_folder_of_figures_is_named_by_itself_too_and_an_empty_one_is_refused(tmp_path, make_row):
    keep(kept_file(tmp_path, "curves"), [Kept(make_row(), "1/2")])
    assert merge_results([tmp_path / "figures"], tmp_path / "here") == {"figures/curves.csv": 1}
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty has no file of results"):
        merge_results([tmp_path, tmp_path / "empty"], tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_nothing_is_added_where_one_of_the_files_here_is_damaged(tmp_path, make_row):
    here, single = tmp_path / "here", tmp_path / "single.csv"
    append_rows(single, [make_row(), make_row(data="cifar10", p=0.4, n=40_000)])
    append_rows(rows_path(here, "cifar10"), [make_row(data="cifar10", p=0.4, n=40_000, seed=-1)])
    with pytest.raises(InputError, match=r"cifar10\.csv is damaged in line 2"):
        merge_results([single], here)
    assert not rows_path(here, "mnist").exists()


@pytest.fixture
def results(tmp_path, make_row):
    """Make a folder with one run's suspects, by its accuracy, and sheets that say whose they are."""

    def make(name, accuracy, sheets=1, **changes):
        row = make_row(noise="none", p=0.0, gap_auc=None, validation_accuracy=accuracy, **changes)
        keep(kept_file(tmp_path / name, "suspects"), [Kept(row, "1:0:2:1.3")])
        for number in range(1, sheets + 1):
            path = tmp_path / name / "figures" / f"suspicious-mnist-{number}.png"
            path.write_bytes(f"sheet of {name}".encode())
        return tmp_path / name

    return make


def best_value(place):
    return best(read_kept(kept_file(place, "suspects"))).row.hyper


def test_sheets_of_a_worse_run_stay_where_they_are(results):
    here, worse = results("here", 0.994, hyper="beta=1"), results("worse", 0.98, hyper="beta=100")
    assert merge_results([worse], here) == {SUSPECTS: 1}
    assert best_value(here) == "beta=1"
    assert (here / FIRST).read_bytes() == b"sheet of here"


@pytest.mark.parametrize("named", [".", SUSPECTS])
def test_sheets_of_the_best_run_replace_all_that_were_there(results, named):
    here, better = results("here", 0.98, sheets=2, hyper="beta=1"), results("better", 0.99, hyper="beta=100")
    assert merge_results([better / named], here) == {SUSPECTS: 1, FIRST: 1}
    assert best_value(here) == "beta=100"
    assert (here / FIRST).read_bytes() == b"sheet of better"
    assert not (here / SECOND).exists()
    assert set(merge_results([better], here).values()) == {0}


def test_the_order_of_the_places_does_not_matter(results, tmp_path):
    worse, better = results("worse", 0.98, hyper="beta=1"), results("better", 0.99, hyper="beta=100")
    for name, places in (("one", [worse, better]), ("other", [better, worse])):
        merge_results(places, tmp_path / name)
        assert (tmp_path / name / FIRST).read_bytes() == b"sheet of better"
        assert len(read_kept(kept_file(tmp_path / name, "suspects"))) == 2


def test_the_best_run_without_its_sheets_is_not_taken(results):
    here, bare = results("here", 0.98, hyper="beta=1"), results("bare", 0.99, sheets=0, hyper="beta=100")
    with pytest.warns(Notice, match="has the best run of suspicious-mnist but not its pictures"):
        assert merge_results([bare], here) == {SUSPECTS: 0}
    assert best_value(here) == "beta=1"
    assert (here / FIRST).read_bytes() == b"sheet of here"
