"""Training cohorts: rows at once, in time, and on from where a call ended."""

import dataclasses
import time

import pytest

from noiselimit.data.sources import load_data
from noiselimit.errors import Notice
from noiselimit.reproduce import hearing, run
from noiselimit.reproduce.cohorts import plan_cohorts
from noiselimit.reproduce.hearing import Way
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.result import Shares
from noiselimit.reproduce.rows_file import read_rows, rows_path
from noiselimit.reproduce.run import run_cohorts
from noiselimit.reproduce.studies import STUDIES, chosen_cells
from noiselimit.reproduce.work import all_tasks, missing_tasks
from noiselimit.spec import RunSpec

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
    monkeypatch.setattr(run, "WORTH_BEGINNING", 0.0)
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


def test_the_time_of_a_cohort_is_shared_out_without_rest():
    shares = Shares()
    spec = RunSpec(method="ce")
    found = [shares.of_next(spec, {"cohort": 3, "cohort_seconds": seconds}) for seconds in (6.0, 10.0, 10.0)]
    assert found == [2.0, 4.0, 4.0]
    assert shares.of_next(dataclasses.replace(spec, parent="a"), {"cohort": 1, "cohort_seconds": 5.0}) == 5.0


def test_a_figure_that_fails_costs_no_run(tmp_path, digits, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(hearing, "harvest", broken)
    with pytest.warns(Notice, match="figures have nothing"):
        ended = run_cohorts(
            cohorts_of(["ce"]), QUICK, digits, tmp_path, Way(tmp_path / "runs", "cpu", threads=1)
        )
    assert ended.rows == 1
