"""Set-up: what a process says, when it says it, and what follows."""

import sys
import warnings
from itertools import count

import pytest
import torch

from noiselimit.bench.effort import QUICK_CPU
from noiselimit.bench.session import Session
from noiselimit.bench.set_up import set_up, set_up_entry, timed_lines
from noiselimit.bench.set_up_child import main
from noiselimit.bench.work import MNIST, Way
from noiselimit.errors import Notice


def test_set_up_is_the_first_epochs_end_less_an_epoch():
    lines = [(10.0, "epoch"), (11.0, "epoch"), (14.0, "epoch"), (15.0, "examples 48000")]
    entry = set_up_entry("cold", lines, MNIST)
    assert entry["row"] == "set-up-cold"
    assert entry["set_up_seconds"] == 10.0 - 2.0
    assert entry["n"] == 48_000
    assert entry["notices"] == []
    assert set_up_entry("warm", [*lines, (15.1, "notice a b.")], MNIST)["notices"] == ["a b."]


def test_lines_of_a_process_with_the_time_of_each():
    ticks = count()
    code = "print('epoch', flush=True); print('other')"
    lines = timed_lines([sys.executable, "-c", code], clock=lambda: float(next(ticks)))
    assert lines == [(1.0, "epoch"), (2.0, "other")]


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="ended with 1: ValueError: no such thing"):
        timed_lines([sys.executable, "-c", "raise ValueError('no such thing')"])


def test_the_process_that_is_timed_reports_its_epochs_and_examples(capsys):
    main(["mnist", "20", "10", "cpu", "2", "auto", "auto", "auto"])
    assert capsys.readouterr().out.splitlines() == ["epoch", "epoch", "examples 16"]


def test_the_process_says_what_gave_way(capsys, monkeypatch, train_spy):
    def give_way(*arguments, **options):
        for _run in range(2):
            warnings.warn("kernels failed,\nso torch's are used.", Notice, stacklevel=2)
        return train_spy(*arguments, **options)

    monkeypatch.setattr("noiselimit.training.train", give_way)
    main(["mnist", "20", "10", "cpu", "1", "auto", "auto", "auto"])
    said = ["epoch", "notice kernels failed, so torch's are used.", "examples 16"]
    assert capsys.readouterr().out.splitlines() == said


def test_the_process_trains_in_the_way_of_the_session(monkeypatch, train_spy):
    def run_here(command, environment):
        main(command[3:])
        return [(1.0, "epoch"), (2.0, "epoch"), (3.0, "examples 16")]

    monkeypatch.setattr("noiselimit.bench.set_up.timed_lines", run_here)
    way = Way("bfloat16", "off", "on")
    set_up(Session(torch.device("cpu"), 1, QUICK_CPU, way), lambda share: None)
    assert train_spy.ways == [way, way]
