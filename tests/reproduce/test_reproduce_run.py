"""Training cohorts: rows at once, in time, and on from where a call ended."""

import dataclasses
import json
import threading
import time

import pytest

from noiselimit import locks
from noiselimit.checkpoints.store import FOLDER
from noiselimit.data.sources import load_data
from noiselimit.errors import InputError, Notice
from noiselimit.reproduce import hearing, run
from noiselimit.reproduce.cohorts import plan_cohorts
from noiselimit.reproduce.figures.kept import kept_file, read_kept
from noiselimit.reproduce.hearing import Way
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.result import recorded_seconds
from noiselimit.reproduce.rows_file import read_rows, rows_path
from noiselimit.reproduce.run import run_cohorts
from noiselimit.reproduce.studies import STUDIES, chosen_cells
from noiselimit.reproduce.work import all_tasks, missing_tasks

QUICK = dataclasses.replace(protocol_for("mnist", quick=True), train_sizes={1000: 64, 10_000: 64, 48_000: 64})


@pytest.fixture(scope="module")
def digits():
    return load_data("digits")


def cohorts_of(methods, rows=(), problems=("uniform:0.8/1000",), protocol=QUICK):
    tasks = all_tasks(chosen_cells(STUDIES["mnist"], methods, problems), [0], protocol)
    return plan_cohorts(missing_tasks(tasks, rows, protocol), rows, protocol, None)


def test_every_run_becomes_a_row_parents_too_and_is_not_run_again(tmp_path, digits):
    told = []
    way = Way(tmp_path / "runs", "cpu", threads=1)
    ended = run_cohorts(
        cohorts_of(["fw", "limit-l"]), QUICK, digits, tmp_path / "out", way, lambda *news: told.append(news)
    )
    rows = read_rows(rows_path(tmp_path / "out", "mnist"))
    assert (ended.rows, ended.failed, ended.left) == (3, 0, 0)
    assert {(row.method, row.hyper) for row in rows} == {
        ("ce", ""),
        ("fw", ""),
        ("limit-l", "beta=1"),
        ("limit-l", "beta=10"),
    }
    for row in rows:
        assert row.quick
        assert 0 < row.validation_accuracy < 1
        assert 0 < row.bootstrap_std < 0.05
        assert (row.gap_auc is not None) == (row.method == "limit-l")
        assert row.seconds > 0
    assert told[-1][1] == pytest.approx(1.0)
    assert cohorts_of(["ce", "fw", "limit-l"], rows) == []
    assert {path.name[:3] for path in (tmp_path / "runs").iterdir()} == {"ce-"}


@pytest.mark.parametrize("again", [False, True])
def test_what_figures_have_of_a_parent_is_left_as_it_was(tmp_path, digits, again):
    """It is that of the parent's row, whether its folder is found or it is trained again."""
    way, place = Way(tmp_path / "runs", "cpu", threads=1), {"problems": ("uniform:0.8/48000",)}
    run_cohorts(cohorts_of(["fw"], **place), QUICK, digits, tmp_path / "out", way)
    curves = kept_file(tmp_path / "out", "curves")
    before = [one for one in read_kept(curves) if one.row.method == "ce"]
    assert before[0].row.seconds > 0
    rows = read_rows(rows_path(tmp_path / "out", "mnist"))
    if again:
        way = Way(tmp_path / "other", "cpu", threads=1)
    run_cohorts(cohorts_of(["dmi"], rows, **place), QUICK, digits, tmp_path / "out", way)
    assert [one for one in read_kept(curves) if one.row.method == "ce"] == before


def test_a_kept_parent_has_its_own_seconds_in_another_folder_of_results_too(tmp_path, digits):
    way = Way(tmp_path / "runs", "cpu", threads=1)
    for out in ("first", "second"):
        assert run_cohorts(cohorts_of(["ce"]), QUICK, digits, tmp_path / out, way).rows == 1
    (metrics,) = (json.loads(path.read_text()) for path in way.runs.glob("ce-*/metrics.json"))
    (first,), (second,) = (read_rows(rows_path(tmp_path / out, "mnist")) for out in ("first", "second"))
    assert second.seconds == pytest.approx(metrics["cohort_seconds"])
    assert 0 < second.seconds <= first.seconds


@pytest.mark.parametrize(
    ("metrics", "seconds"),
    [
        ({"cohort": 4, "cohort_seconds": 10.0}, 2.5),
        ({"cohort": 0, "cohort_seconds": 0.0}, 0.0),
        ({"cohort_seconds": 10.0}, 0.0),
        ({"cohort": 1, "cohort_seconds": None}, 0.0),
        ({"cohort": 1, "cohort_seconds": -1.0}, 0.0),
        ({"cohort": "1", "cohort_seconds": 1.0}, 0.0),
        ({"cohort": 1, "cohort_seconds": 1e300}, 0.0),
    ],
)
def test_what_a_folder_says_of_its_seconds_is_taken_where_a_row_can_have_it(metrics, seconds):
    assert recorded_seconds(metrics) == seconds


def test_a_call_stops_in_time_and_the_next_goes_on_from_there(tmp_path, digits, monkeypatch):
    protocol = dataclasses.replace(QUICK, epochs=6, patience=6)
    cohorts = cohorts_of(["limit-l"], protocol=protocol)
    epochs = []

    class Clock(Way):
        @property
        def seconds_left(self):
            return 100.0 if len(epochs) < 6 else 0.0  # two runs, three epochs

    def counted(label, share):
        epochs.append(share)

    out, runs = tmp_path / "out", tmp_path / "runs"
    way = Clock(runs, "cpu", threads=1, deadline=time.monotonic(), checkpoints=0)
    ended = run_cohorts(cohorts, protocol, digits, out, way, counted)
    assert (ended.rows, ended.left) == (0, 2)
    assert read_rows(rows_path(out, "mnist")) == []
    trained = []
    monkeypatch.setattr(run, "train", _spied(run.train, trained))
    again = Way(runs, "cpu", threads=1, checkpoints=0)
    with pytest.warns(Notice, match="go on from epoch"):
        assert run_cohorts(cohorts, protocol, digits, out, again).rows == 2
    assert trained[0] > 1  # the first epoch is not trained again
    assert {row.epochs_run for row in read_rows(rows_path(out, "mnist"))} == {6}


def _spied(train, first_epochs):
    def spying(*arguments, progress, **more):
        def hear(news):
            if news.record is not None:
                first_epochs.append(news.record["epoch"])
            progress(news)

        return train(*arguments, progress=hear, **more)

    return spying


def test_a_cohort_that_does_not_fit_is_left_unless_nothing_else_was_done(tmp_path, digits):
    small, large = cohorts_of(["ce"], problems=["uniform:0.8/1000", "uniform:0.8/10000"])
    long = dataclasses.replace(large, seconds=1e6)
    way = Way(tmp_path / "runs", "cpu", threads=1, deadline=time.monotonic() + 1000)
    ended = run_cohorts([long, dataclasses.replace(small, seconds=1.0)], QUICK, digits, tmp_path / "a", way)
    assert (ended.rows, ended.left) == (1, 1)
    assert run_cohorts([long], QUICK, digits, tmp_path / "b", way).rows == 1
    over = dataclasses.replace(way, deadline=time.monotonic())
    assert run_cohorts([small], QUICK, digits, tmp_path / "c", over).left == 1


def test_a_figure_that_fails_costs_no_run(tmp_path, digits, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(hearing, "harvest", broken)
    with pytest.warns(Notice, match="figures have nothing"):
        ended = run_cohorts(
            cohorts_of(["ce"]), QUICK, digits, tmp_path, Way(tmp_path / "runs", "cpu", threads=1)
        )
    assert ended.rows == 1


class Until(Way):
    """Time is up when the test says so."""

    over = staticmethod(lambda: False)

    @property
    def seconds_left(self):
        return 0.0 if self.over() else 100.0


def until(over, runs):
    way = Until(runs, "cpu", threads=1, deadline=time.monotonic(), checkpoints=0)
    object.__setattr__(way, "over", over)
    return way


def test_time_that_is_up_in_the_midst_of_an_epoch_ends_it(tmp_path, digits):
    protocol = dataclasses.replace(QUICK, batch_size=4)  # 16 steps an epoch
    asked, told = [], []
    way = until(lambda: asked.append(0) or len(asked) > 9, tmp_path / "runs")
    with pytest.warns(Notice, match="not one epoch of mnist uniform:0.8/1000, seed 0, ce was done in time"):
        ended = run_cohorts(
            cohorts_of(["ce"], protocol=protocol), protocol, digits, tmp_path, way, lambda *n: told.append(n)
        )
    assert (ended.rows, ended.left) == (0, 1)
    assert [share for _, share in told] == [0.0]


def two_that_end_apart(protocol):
    """One cohort of two runs: of two epochs, and of six."""
    (cohort,) = cohorts_of(["limit-l"], protocol=protocol)
    short, long = cohort.tasks
    short = dataclasses.replace(short, spec=dataclasses.replace(short.spec, epochs=2))
    return dataclasses.replace(cohort, tasks=(short, long))


def test_an_interruption_leaves_no_folders_behind_and_no_second_is_counted_twice(tmp_path, digits):
    protocol = dataclasses.replace(QUICK, epochs=6, patience=6)
    cohort = two_that_end_apart(protocol)
    out, runs = tmp_path / "out", tmp_path / "runs"
    epochs = []
    started = time.monotonic()
    way = until(lambda: len(epochs) >= 5, runs)  # both have two epochs, one has ended
    ended = run_cohorts([cohort], protocol, digits, out, way, lambda *news: epochs.append(news))
    spent = time.monotonic() - started
    assert (ended.rows, ended.left) == (1, 1)
    # A checkpoint of both runs is there still, and takes a run without a folder for one that goes on.
    assert len(list(runs.glob("*/spec.json"))) == 1
    left = dataclasses.replace(cohort, tasks=cohort.tasks[1:])
    started = time.monotonic()
    with pytest.warns(Notice, match="go on from epoch 2"):
        run_cohorts([left], protocol, digits, out, Way(runs, "cpu", threads=1, checkpoints=0))
    spent += time.monotonic() - started
    assert not runs.exists() or list(runs.iterdir()) == []
    rows = read_rows(rows_path(out, "mnist"))
    assert len(rows) == 2
    assert sum(row.seconds for row in rows) <= spent
    assert not (runs / FOLDER).exists()


def test_nobody_else_trains_in_the_folder_all_along(tmp_path, digits, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.0)
    refused = []

    def other():
        with pytest.raises(InputError, match="is in use by process") as caught:
            run_cohorts(cohorts_of(["mae"]), QUICK, digits, tmp_path / "b", Way(tmp_path / "runs", "cpu"))
        refused.append(str(caught.value))

    def between(label, share):
        if share == 0.0:  # nothing is being trained yet
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    way = Way(tmp_path / "runs", "cpu", threads=1)
    assert run_cohorts(cohorts_of(["ce"]), QUICK, digits, tmp_path / "a", way, between).rows == 1
    assert len(refused) == 1
