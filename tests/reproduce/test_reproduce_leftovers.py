"""Whatever moment a process is killed at, the next call ends what it began to end."""

import dataclasses
import functools
import json
import os
import shutil
import subprocess
import sys

import pytest

from noiselimit.data.sources import load_data
from noiselimit.errors import InputError, Notice
from noiselimit.reproduce import carrying_out, hearing, leftovers
from noiselimit.reproduce.call import make_plan
from noiselimit.reproduce.carrying_out import carry_out
from noiselimit.reproduce.figures.kept import kept_file, read_kept
from noiselimit.reproduce.rows_file import append_rows, read_rows, rows_path
from noiselimit.reproduce.shares import FILE
from noiselimit.reproduce.wanted import Wanted

KILLED = """
import os, signal, sys
from noiselimit.cli.main import run
from noiselimit.reproduce import hearing

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(hearing, sys.argv[1], killed)
run(sys.argv[2:])
"""
PROBLEM = "uniform:0.8/48000"
"""What learning curves are of."""


@pytest.fixture
def wanted(tmp_path):
    return Wanted(
        "mnist",
        tmp_path / "out",
        tmp_path / "runs",
        methods=["mae"],
        problems=[PROBLEM],
        device="cpu",
        threads=1,
        quick=True,
    )


@pytest.fixture(scope="module")
def killed_at(tmp_path_factory):
    """Make a folder that a process was killed in when it was about to do this."""

    @functools.cache
    def make(moment):
        place = tmp_path_factory.mktemp(moment)
        options = ["--quick", "--methods", "mae", "--cells", PROBLEM, "--device", "cpu", "--threads", "1"]
        arguments = ["reproduce", "mnist", *options, "--out", "out", "--runs", "runs", "--quiet"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, moment, *arguments], cwd=place, env=environment, check=False
        )
        assert ended.returncode == -9
        return place

    return make


def call(wanted):
    return carry_out(make_plan(wanted), wanted)


def curves(wanted):
    return [one.row.method for one in read_kept(kept_file(wanted.out, "curves"))]


def left(wanted):
    """Names of what is in the folder of the runs."""
    runs = wanted.runs_folder("mnist")
    return sorted(path.name for path in runs.iterdir()) if runs.exists() else []


@pytest.mark.parametrize("moment", ["harvest", "mark_recorded"])
@pytest.mark.parametrize("budget", [None, 0.0])
def test_a_run_that_was_recorded_when_the_process_was_killed_is_ended(killed_at, wanted, moment, budget):
    shutil.copytree(killed_at(moment), wanted.out.parent, dirs_exist_ok=True)
    (row,) = read_rows(rows_path(wanted.out, "mnist"))
    assert curves(wanted) == (["mae"] if moment == "mark_recorded" else [])
    assert FILE in left(wanted)
    assert any(name.startswith("mae-") for name in left(wanted))
    ended = call(dataclasses.replace(wanted, budget_minutes=budget))
    assert (ended.rows, ended.left) == (0, 0)
    assert curves(wanted) == ["mae"]
    (kept,) = read_kept(kept_file(wanted.out, "curves"))
    assert kept.row == row
    assert read_rows(rows_path(wanted.out, "mnist")) == [row]
    assert left(wanted) == []


def test_without_the_data_it_is_left_to_a_later_call(killed_at, wanted, monkeypatch):
    shutil.copytree(killed_at("harvest"), wanted.out.parent, dirs_exist_ok=True)
    before = left(wanted)

    def missing(*_):
        raise InputError("no data folder is named: name one.")

    with monkeypatch.context() as patched:
        patched.setattr(carrying_out, "load_data", missing)
        with pytest.warns(Notice, match="figures have nothing of run .* yet: no data folder is named"):
            call(wanted)
    assert left(wanted) == [name for name in before if name != ".lock"]
    call(wanted)
    assert (curves(wanted), left(wanted)) == (["mae"], [])


@pytest.mark.parametrize(
    ("error", "said", "stays"),
    [
        (InputError("curves.csv is damaged: move it away."), r"yet: curves\.csv is damaged", True),
        (ZeroDivisionError("division by zero"), r"\(ZeroDivisionError: division by zero\)\.", False),
    ],
)
def test_what_cannot_be_kept_is_told_as_while_training(killed_at, wanted, monkeypatch, error, said, stays):
    """A folder that figures can still have something of stays; for a mistake of ours none is kept forever."""
    shutil.copytree(killed_at("harvest"), wanted.out.parent, dirs_exist_ok=True)

    def broken(*_):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(hearing, "harvest", broken)
        with pytest.warns(Notice, match=rf"^figures have nothing of run .*/mae-\S+ {said}"):
            assert call(wanted).left == 0
    assert any(name.startswith("mae-") for name in left(wanted)) == stays
    call(wanted)
    assert (curves(wanted), left(wanted)) == (["mae"] if stays else [], [])


def test_a_folder_in_use_is_left_to_its_user(killed_at, wanted, monkeypatch):
    shutil.copytree(killed_at("mark_recorded"), wanted.out.parent, dirs_exist_ok=True)

    def in_use(folder):
        raise InputError(f"{folder} is in use by process 1.")

    monkeypatch.setattr(leftovers, "folder_lock", in_use)
    before = left(wanted)
    assert call(wanted).left == 0
    assert left(wanted) == before


def test_runs_that_other_rows_are_of_stay(killed_at, wanted):
    shutil.copytree(killed_at("mark_recorded"), wanted.out.parent, dirs_exist_ok=True)
    path = rows_path(wanted.out, "mnist")
    (row,) = read_rows(path)
    path.unlink()
    append_rows(path, [dataclasses.replace(row, test_accuracy=0.5)])
    call(wanted)
    assert any(name.startswith("mae-") for name in left(wanted))


def test_a_marked_folder_goes_though_nothing_is_to_train(killed_at, wanted, monkeypatch):
    shutil.copytree(killed_at("mark_recorded"), wanted.out.parent, dirs_exist_ok=True)
    (folder,) = wanted.runs_folder("mnist").glob("mae-*")
    hearing.mark_recorded(folder)
    (folder / "metrics.json").unlink()  # it was going
    call(wanted)
    assert left(wanted) == []


def test_ce_runs_to_start_from_stay_and_are_asked_for_nothing(wanted, monkeypatch):
    of_ce = dataclasses.replace(wanted, methods=["ce"])
    assert call(of_ce).rows == 1
    (folder,) = wanted.runs_folder("mnist").iterdir()
    kept_file(wanted.out, "curves").unlink()
    spec_hash = folder.name.rpartition("-")[2]
    (folder.parent / FILE).write_text(json.dumps({spec_hash: 5.0, "another": 7.0}))
    assert call(of_ce).left == 0
    assert curves(wanted) == ["ce"]
    assert folder.exists()
    assert json.loads((folder.parent / FILE).read_text()) == {"another": 7.0}

    def in_vain(*_):
        raise AssertionError

    monkeypatch.setattr(leftovers, "folder_lock", in_vain)
    assert call(of_ce).left == 0


@pytest.mark.parametrize(("name", "runs"), [("mnist", 1), ("memorisation", 4)])
def test_a_file_of_figures_that_is_damaged_while_runs_train_costs_none_of_them(
    wanted, name, runs, monkeypatch
):
    """A figure's own runs have no row elsewhere, so that their folders are all there is of them."""
    if name != "mnist":
        wanted = dataclasses.replace(wanted, name=name, methods=None, problems=None)
    path = kept_file(wanted.out, "curves")

    def damage(*arguments):
        path.parent.mkdir(parents=True)
        path.write_text("my notes\n")
        return load_data(*arguments)

    awaited = r"figures have nothing of run .* yet: .*curves\.csv is no file of results"
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(carrying_out, "load_data", damage)  # which is after files were looked at
        with pytest.warns(Notice, match=awaited):
            assert call(wanted).rows == runs
    assert path.read_text() == "my notes\n"
    folders = wanted.runs_folder("mnist")
    ended = {file: file.read_bytes() for file in folders.glob("*/metrics.json")}
    assert len(ended) == runs
    with pytest.raises(InputError, match="move it away"):
        call(wanted)
    assert {file: file.read_bytes() for file in folders.glob("*/metrics.json")} == ended
    path.unlink()
    call(wanted)
    kept = [one.row for one in read_kept(path)]
    assert len(kept) == runs
    if name == "mnist":
        assert kept == read_rows(rows_path(wanted.out, "mnist"))
    assert left(wanted) == []


def test_runs_that_only_a_figure_has_are_ended_too(wanted, monkeypatch):
    figure = dataclasses.replace(wanted, name="memorisation", methods=None, problems=None)
    with monkeypatch.context() as patched:
        patched.setattr(hearing, "mark_recorded", lambda folder: None)
        assert call(figure).rows == 4
    assert len(left(figure)) == 4
    assert call(figure).left == 0
    assert left(figure) == []
    assert len(read_kept(kept_file(wanted.out, "curves"))) == 4
