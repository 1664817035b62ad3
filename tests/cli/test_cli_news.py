"""Progress: a bar on a terminal, a line every ten seconds elsewhere, nothing when quiet."""

import io
import os
import pty
import re
import subprocess

import pytest
from rich.console import Console

from noiselimit import RunSpec
from noiselimit.cli.progress import download_news, training_bar, training_lines, training_news
from noiselimit.training import Progress

RECORD = {"validation_accuracy": 0.5}


def news(done: int, total: int = 40, *, ended: bool = False) -> Progress:
    return Progress(done, total, RunSpec(), None if ended else RECORD)


def test_a_line_every_ten_seconds(capsys):
    now = 0.0
    show = training_lines(clock=lambda: now)
    for done in range(1, 31):
        now = float(done)
        show(news(done))
    assert capsys.readouterr().err.splitlines() == [
        "training: 10 of 40 epochs, 10 s gone, about 30 s left · validation 50.0%",
        "training: 20 of 40 epochs, 20 s gone, about 20 s left · validation 50.0%",
        "training: 30 of 40 epochs, 30 s gone, about 10 s left · validation 50.0%",
    ]


def test_runs_that_were_there_do_not_make_the_time_left_too_short(capsys):
    now = 0.0
    show = training_lines(clock=lambda: now)
    show(news(100, 120, ended=True))
    now = 10.0
    show(news(105, 120))
    assert (
        capsys.readouterr().err == "training: 5 of 20 epochs, 10 s gone, about 30 s left · validation 50.0%\n"
    )


def test_a_run_that_ends_early_counts_as_done(capsys):
    now = 0.0
    show = training_lines(clock=lambda: now)
    show(news(1))
    now = 10.0
    show(news(20, ended=True))
    assert "20 of 40 epochs" in capsys.readouterr().err


def test_the_bar_fits_80_columns():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, color_system=None)
    with training_bar(console) as show:
        show(news(1, 1200))
        show(news(1100, 1200))
    lines = [
        line
        for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9?;]*[A-Za-z]", "", screen.getvalue()))
        if line
    ]
    assert re.search(r"training .* 1100/1200 epochs, .* left · validation 50\.0%", lines[-1])
    assert max(len(line.rstrip()) for line in lines) <= 80


def test_no_bar_where_stderr_is_no_terminal(capsys):
    with training_news() as show:
        show(news(1))
    assert capsys.readouterr().err == ""


def test_quiet(capsys, monkeypatch):
    monkeypatch.setattr("noiselimit.cli.progress.LINE_EVERY", 0.0)
    with training_news(quiet=True) as show:
        show(news(1))
    assert capsys.readouterr().err == ""
    with training_news() as show:
        show(news(1))
    assert capsys.readouterr().err.startswith("training: 1 of 40")


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
    said = b""
    while piece := _read(shown):
        said += piece
    os.close(shown)
    assert ended.returncode == 0
    assert "\x1b" not in ended.stdout
    assert (b"\x1b" in said) == bar
    assert (b"3/3" in said) == bar
    assert (b"left" in said) == bar


def _read(shown: int) -> bytes:
    try:
        return os.read(shown, 65536)
    except OSError:  # how Linux tells that the other side is closed
        return b""


def test_downloads_are_named_once(capsys):
    show = download_news()
    for name in ("a.gz", "a.gz", "b.gz"):
        show(name, 100)
    assert capsys.readouterr().err == "downloading a.gz\ndownloading b.gz\n"
    download_news(quiet=True)("a.gz", 100)
    assert capsys.readouterr().err == ""
