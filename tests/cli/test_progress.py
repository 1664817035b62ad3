"""Progress: a bar on a terminal, a line every ten seconds elsewhere, nothing with --quiet."""

import os
import pty
import subprocess

import pytest

from noiselimit import RunSpec
from noiselimit.cli.progress import download_progress, training_progress
from noiselimit.training import Progress


def news(done: int, total: int = 40, *, ended: bool = False) -> Progress:
    return Progress(done, total, RunSpec(), None if ended else {"validation_accuracy": 0.5})


@pytest.fixture
def clock(monkeypatch):
    """Set the time."""
    now = [0.0]
    monkeypatch.setattr("noiselimit.cli.progress.time.monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, seconds)


def test_a_line_every_ten_seconds(capsys, clock):
    with training_progress() as show:
        for done in range(1, 31):
            clock(float(done))
            show(news(done))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["10", "20", "30"]
    assert "30 s left" in lines[0]
    assert "50.0%" in lines[0]


def test_runs_that_existed_do_not_count_for_the_time_left(capsys, clock):
    with training_progress() as show:
        show(news(100, 120, ended=True))
        clock(10.0)
        show(news(105, 120))
    assert "5 of 20 epochs, 10 s, about 30 s left" in capsys.readouterr().err


def test_quiet(capsys, clock):
    with training_progress(quiet=True) as show:
        clock(20.0)
        show(news(1))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("kind", "bar"), [("xterm-256color", True), ("dumb", False)])
def test_on_a_terminal(program, table, kind, bar):
    shown, terminal = pty.openpty()
    ended = subprocess.run(
        [*program, "train", "--data", table, "--epochs", "3"],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "TERM": kind, "COLUMNS": "80"},
        timeout=60,
        text=True,
    )
    os.close(terminal)
    output = b""
    try:
        while piece := os.read(shown, 65536):
            output += piece
    except OSError:  # Linux reports the closed end like this
        pass
    os.close(shown)
    assert ended.returncode == 0
    assert "\x1b" not in ended.stdout
    assert (b"3/3" in output) == bar


def test_downloads_are_named_once(capsys):
    show = download_progress()
    for name in ("a.gz", "a.gz", "b.gz"):
        show(name, 100)
    download_progress(quiet=True)("a.gz", 100)
    assert capsys.readouterr().err == "downloading a.gz\ndownloading b.gz\n"
