"""Tables on terminals of any width and kind, and in pipes."""

import pytest
from rich.table import Table

from noiselimit import load_run
from noiselimit.cli.tables import fits, plain_table, print_all, print_runs


@pytest.fixture
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make rich believe that stdout is a colourful terminal of 80 columns."""
    for name in ("NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)


def wide_table(columns: int) -> Table:
    return plain_table(["0123456789"] * columns, [["x"] * columns])


def test_a_pipe_gets_long_lines_without_markup(capsys):
    assert fits(wide_table(100))
    print_all(wide_table(100), "[bold] :smile:")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["0123456789"] * 100
    assert lines[2] == "[bold] :smile:"


def test_no_break_spaces_are_blanks_and_what_controls_a_terminal_is_replaced(capsys):
    print_all(plain_table(["share"], [["99\u00a0%"], ["\x1b[2J"]]))
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == ["share", "99 %", "\ufffd[2J"]


@pytest.mark.usefixtures("_terminal")
def test_a_terminal_gets_styles_and_nothing_is_truncated(capsys):
    assert fits(wide_table(6))
    assert not fits(wide_table(8))
    print_all(wide_table(8))
    out = capsys.readouterr().out
    assert "\x1b[1m" in out
    assert out.count("0123456789") == 8


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_plain_text_on_terminals_that_want_it(capsys, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    print_all(wide_table(2))
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.usefixtures("_terminal")
def test_names_cannot_control_the_terminal(capsys):
    print_all(plain_table(["name"], [["\x1b[2Jgone\u202e"], ["[red]x :smile:"]]), "\x9b31m")
    out = capsys.readouterr().out
    assert "[red]x :smile:" in out
    assert "�[2Jgone�" in out
    assert "\x1b[2J" not in out


def test_folders_that_do_not_fit_are_listed_below(capsys, runs, monkeypatch):
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "80", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    folders = [str(folder) for folder in sorted(runs.glob("*-seed*"))]
    print_runs([load_run(folder) for folder in folders])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == folders
    assert all(len(line) <= 80 for line in lines[:-3])
