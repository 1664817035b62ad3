"""Set-up: what a process says, when it says it, and what follows."""

import sys
from itertools import count

import pytest

from noiselimit.bench.set_up import set_up_entry, timed_lines
from noiselimit.bench.set_up_child import main
from noiselimit.bench.work import MNIST


def test_set_up_is_the_first_epochs_end_less_an_epoch():
    lines = [(10.0, "epoch"), (11.0, "epoch"), (14.0, "epoch"), (15.0, "examples 48000")]
    entry = set_up_entry("cold", lines, MNIST)
    assert entry["row"] == "set-up-cold"
    assert entry["set_up_seconds"] == 10.0 - 2.0
    assert entry["n"] == 48_000


def test_lines_of_a_process_with_the_time_of_each():
    ticks = count()
    code = "print('epoch', flush=True); print('other')"
    lines = timed_lines([sys.executable, "-c", code], clock=lambda: float(next(ticks)))
    assert lines == [(1.0, "epoch"), (2.0, "other")]


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="ended with 1: ValueError: no such thing"):
        timed_lines([sys.executable, "-c", "raise ValueError('no such thing')"])


def test_the_process_that_is_timed_reports_its_epochs_and_examples(capsys):
    main(["mnist", "20", "10", "cpu", "2"])
    assert capsys.readouterr().out.splitlines() == ["epoch", "epoch", "examples 16"]
