"""Output on terminals of any width and kind, and elsewhere."""

import pytest
from rich.table import Table

from noiselimit.cli.tables import fits, say


@pytest.fixture
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make rich believe that stdout is a colourful terminal of 80 columns."""
    for name in ("NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)


def wide_table(columns: int) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for _ in range(columns):
        table.add_column("0123456789")
    table.add_row(*["x"] * columns)
    return table


def test_a_pipe_gets_long_lines_without_padding(capsys):
    assert fits(wide_table(100))
    say(wide_table(100), "[bold] :smile:")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["0123456789"] * 100
    assert lines[1].endswith("x")
    assert lines[2] == "[bold] :smile:"


@pytest.mark.usefixtures("_terminal")
def test_a_terminal_gets_styles_and_what_does_not_fit_is_not_cut(capsys):
    assert fits(wide_table(6))
    assert not fits(wide_table(7))
    say(wide_table(7))
    out = capsys.readouterr().out
    assert "\x1b[1m" in out
    assert out.count("0123456789") == 7


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_plain_text_on_terminals_where_it_is_wanted(capsys, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    say(wide_table(2))
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.usefixtures("_terminal")
def test_names_steer_no_terminal(capsys):
    table = Table("name", header_style="bold")
    table.add_row("\x1b[2Jgone\u202e")
    say(table, "\x9b31m")
    out = capsys.readouterr().out
    assert "�[2Jgone�" in out
    assert "�31m" in out
    assert "\x1b[1m" in out  # our own
    assert "\x1b[2J" not in out
