"""Progress: a line every ten seconds where there is no terminal, nothing with --quiet."""

import pytest

from noiselimit import InputError, RunSpec, find_label_issues, train
from noiselimit.cli.options import Source
from noiselimit.progress import training_progress
from noiselimit.training import Progress


def news(done: int, total: int = 40, *, ended: bool = False) -> Progress:
    return Progress(done, total, RunSpec(), None if ended else {"validation_accuracy": 0.5})


@pytest.fixture
def clock(monkeypatch):
    """Set the time."""
    now = [0.0]
    monkeypatch.setattr("noiselimit.progress.time.monotonic", lambda: now[0])
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


def test_python_shows_the_same_progress_if_asked(blobs, capsys, monkeypatch):
    monkeypatch.setattr("noiselimit.progress.LINE_EVERY", 0.0)
    inputs, labels = blobs.examples.inputs, blobs.examples.labels
    train(RunSpec(epochs=2), blobs, progress=False)
    find_label_issues(inputs, labels, fast=True)
    assert capsys.readouterr() == ("", "")
    train(RunSpec(epochs=2), blobs, progress=True)
    assert "2 of 2 epochs" in capsys.readouterr().err
    find_label_issues(inputs, labels, fast=True, progress=True)
    assert "s left" in capsys.readouterr().err
    with pytest.raises(InputError, match="progress is 'bar'"):
        train(RunSpec(epochs=2), blobs, progress="bar")


def test_downloads_are_named_once(capsys):
    show = Source().arguments()["progress"]
    for name in ("a.gz", "a.gz", "b.gz"):
        show(name, 100)
    Source().arguments(quiet=True)["progress"]("a.gz", 100)
    assert capsys.readouterr().err == "downloading a.gz\ndownloading b.gz\n"
