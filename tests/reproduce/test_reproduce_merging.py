"""Results made elsewhere: each row once, and sheets of pictures beside the run that they are of."""

import pytest

from noiselimit.errors import InputError, Notice
from noiselimit.reproduce.figures.kept import Kept, best, keep, kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.merging.all import merge_results
from noiselimit.reproduce.rows import current_rows, line_of
from noiselimit.reproduce.rows_file import append_rows, read_rows, rows_path

SUSPECTS = "figures/suspects.csv"
FIRST, SECOND = "figures/suspicious-mnist-1.png", "figures/suspicious-mnist-2.png"


def test_results_made_elsewhere_are_merged_once(tmp_path, make_row):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    append_rows(rows_path(here, "mnist"), [make_row(seed=0)])
    append_rows(rows_path(elsewhere, "mnist"), [make_row(seed=0), make_row(seed=1)])
    single = tmp_path / "single.csv"
    append_rows(single, [make_row(data="cifar10", p=0.4, n=40_000, network="resnet-34")])
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


def test_what_figures_keep_is_settled_in_the_same_way_and_that_is_said(tmp_path, make_row):
    one, other, here = (kept_file(tmp_path / name, "curves") for name in ("one", "other", "here"))
    for file, lines in ((one, ["1/2", "1/2", "3/4"]), (other, ["5/6"])):
        keep(file, [Kept(make_row(), lines[0])])
        whole = file.read_text()
        file.write_text(whole + "".join(f"{line_of(make_row())},{values}\n" for values in lines[1:]))
    with pytest.warns(Notice) as notices:
        assert merge_results([one, other], tmp_path / "here") == {"figures/curves.csv": 1}
    said = f"{one} has in line 4 another outcome of the run in line 2, and the latter was added"
    assert [str(notice.message) for notice in notices] == [f"{said}; 1 more row was left out likewise."]
    assert read_kept(here) == [Kept(make_row(), "1/2")]
    with pytest.warns(Notice, match=r"here/figures/curves\.csv has 1 of these runs with another outcome"):
        assert merge_results([other], tmp_path / "here") == {"figures/curves.csv": 0}
    assert read_kept(here) == [Kept(make_row(), "1/2")]


def test_runs_that_no_table_compares_and_no_figure_shows_are_added_and_the_first_is_named(tmp_path, make_row):
    here, path = tmp_path / "here", rows_path(tmp_path / "elsewhere", "mnist")
    own, strange = make_row(seed=7), make_row(method="dmi", hyper="learning_rate=0.005", gap_auc=None)
    append_rows(path, [own, strange])
    got = f"{rows_path(here, 'mnist')} got"
    named = f"dmi learning_rate=0.005 with mnist-cnn, patience 100 and seed 0 in line 3 of {path}."
    with pytest.warns(Notice) as notices:
        assert merge_results([path], here) == {"mnist.csv": 2}
    assert [str(notice.message) for notice in notices] == [f"{got} 1 run that no table compares: {named}"]
    assert merge_results([path], here) == {"mnist.csv": 0}, "said once"
    append_rows(path, [make_row(patience=50), make_row(network="mlp-4x512")])
    with pytest.warns(Notice, match=f"{got} 2 runs that no table compares, such as limit-l beta=10"):
        merge_results([path], here)
    keep(kept_file(tmp_path / "elsewhere", "curves"), [Kept(own, "1/2"), Kept(make_row(), "1/2")])
    with pytest.warns(
        Notice, match=r"got 1 run that no figure shows: limit-l .* seed 7 in line 2 of .*curves"
    ):
        assert merge_results([kept_file(tmp_path / "elsewhere", "curves")], here) == {"figures/curves.csv": 2}


@pytest.fixture
def filled(tmp_path, make_row):
    """Make a folder with rows, or with curves, of quick trials or whole runs."""

    def make(name, *, seed=0, quick=False, curves=False):
        of_quick = {"quick": True, "network": "small-cnn", "patience": 2} if quick else {}
        row = make_row(seed=seed, **of_quick)
        if curves:
            keep(kept_file(tmp_path / name, "curves"), [Kept(row, "1/2")])
        else:
            append_rows(rows_path(tmp_path / name, "mnist"), [row])
        return tmp_path / name

    return make


@pytest.mark.parametrize("curves", [False, True])
def test_quick_trials_are_not_merged_with_whole_runs(filled, tmp_path, curves):
    quick, whole = filled("quick", quick=True), filled("whole", curves=curves)
    found = "curves.csv" if curves else "mnist.csv"
    refused = (
        rf"quick/mnist\.csv has quick trials, which count for nothing, and .*whole/.*{found} has whole runs: "
    )
    before = (quick / "mnist.csv").read_bytes()
    for places, out in (([quick], whole), ([whole], quick), ([quick, whole], tmp_path / "new")):
        with pytest.raises(InputError, match=refused + "merge them into folders of their own by --out"):
            merge_results(places, out)
    assert (quick / "mnist.csv").read_bytes() == before
    assert not (tmp_path / "new").exists()
    assert sorted(path.name for path in whole.rglob("*.csv")) == [found]


def test_quick_trials_are_merged_with_others_and_a_new_folder_of_them_is_told_of(filled, tmp_path):
    first, second = filled("first", quick=True), filled("second", quick=True, seed=1)
    with pytest.warns(Notice, match=r"first/mnist\.csv has quick trials, which count for nothing: "):
        assert merge_results([first], tmp_path / "new") == {"mnist.csv": 1}
    assert merge_results([first, second], tmp_path / "new") == {"mnist.csv": 1}


def test_whole_runs_may_still_be_added_where_quick_trials_were_mixed_in(filled):
    filled("mixed", quick=True)
    mixed, whole, quick = filled("mixed"), filled("whole", seed=1), filled("quick", quick=True, seed=1)
    said = r"mixed/mnist\.csv has quick trials, .* beside whole runs: its lines whose column quick is yes may"
    with pytest.warns(Notice, match=f"{said} be deleted\\.$"):
        assert merge_results([whole], mixed) == {"mnist.csv": 1}
    with pytest.raises(InputError, match=f"{said} be deleted, and new quick trials need a folder"):
        merge_results([quick], mixed)


def test_a_file_that_has_both_is_told_how_to_part_them_and_may_then_be_merged(filled, tmp_path):
    filled("mixed", quick=True)
    file = filled("mixed") / "mnist.csv"
    for place in (file, file.parent):
        with pytest.raises(
            InputError, match=r"mixed/mnist\.csv has quick .* column quick is yes may be deleted"
        ):
            merge_results([place], tmp_path / "new")
    assert not (tmp_path / "new").exists()
    file.write_text("".join(line for line in file.read_text().splitlines(True) if ",yes," not in line))
    assert merge_results([file], tmp_path / "new") == {"mnist.csv": 1}


def test_curves_of_runs_that_were_allowed_fewer_epochs_are_added_as_well(tmp_path, make_row):
    here, elsewhere = kept_file(tmp_path / "here", "curves"), kept_file(tmp_path / "elsewhere", "curves")
    long, short = Kept(make_row(), "1 2/3 4"), Kept(make_row(epochs=311), "1/3")
    keep(here, [long])
    keep(elsewhere, [short])
    assert merge_results([elsewhere], tmp_path / "here") == {"figures/curves.csv": 1}
    assert read_kept(here) == [long, short]
    assert FIGURES["learning-curves"].shown(read_kept(here)) == [long]


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
