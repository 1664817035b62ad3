"""Tables of runs at 80 columns, and values for reading."""

import pytest

from noiselimit import load_run
from noiselimit.cli.tables import percent, print_runs
from noiselimit.report.runs import readable


def test_where_folders_do_not_fit_they_are_listed_below(capsys, runs, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    folders = sorted(runs.glob("*-seed*"))
    print_runs([load_run(folder) for folder in folders])
    lines = capsys.readouterr().out.splitlines()
    below = lines.index("folders, in the same order:")
    assert lines[below + 1 :] == [str(folder) for folder in folders]
    assert all(len(line) <= 80 for line in lines[:below])


def test_without_folders(capsys, runs):
    print_runs([load_run(folder) for folder in runs.glob("*-seed*")], folders=False)
    assert str(runs) not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.1 + 0.2, "0.3"),
        (7, "7"),
        ({}, "none"),
        ({"beta": 10.0, "sigma": 0.03}, "beta 10, sigma 0.03"),
        ({"matrix": [[1, 0], [0, 1]]}, "matrix 2 × 2"),
    ],
)
def test_readable(value, text):
    assert readable(value) == text


def test_percent():
    assert percent(0.9876) == "98.8 %"
    assert percent(None) == "–"
