"""The command as a whole: help, version, exit codes, and what reaches a pipe."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from noiselimit import __version__
from noiselimit.cli.main import app, run

SOURCE = Path(__file__).resolve().parents[2] / "src" / "noiselimit"

COMMANDS = (
    "audit",
    "review",
    "apply",
    "decisions",
    "train",
    "show",
    "predict",
    "export",
    "noise",
    "bound",
    "demo",
    "docs",
)


def test_version(command):
    assert command("--version").out == f"noiselimit {__version__}\n"


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands(command, arguments):
    answer = command(*arguments)
    assert (answer.code, answer.err) == (0, "")
    lines = {line.split()[0]: line for line in answer.out.splitlines() if line}
    assert all(lines[name].endswith(".") and "..." not in lines[name] for name in COMMANDS)
    assert [name for name in lines if name in COMMANDS] == list(COMMANDS)


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in COMMANDS if name not in ("bound", "review", "docs")),
        *(f"bound {name}" for name in ("fano", "capacity", "gap", "plot")),
    ],
)
def test_every_command_has_help_and_json(command, name):
    answer = command(*name.split(), "--help")
    assert answer.code == 0
    assert "--json" in answer.out


def _paths(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, each in getattr(command, "commands", {}).items():
        yield from _paths(each, (*path, name))


def test_help_names_only_pages_that_are_installed(command):
    """So does the source, in the messages of errors."""
    texts = "\n".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    helps = [command(*path, "--help").out for path in _paths(typer.main.get_command(app))]
    assert all("noiselimit docs" in text for text in helps)
    named = set(re.findall(r"noiselimit docs ([\w/-]+)", "\n".join([texts, *helps])))
    assert len(named) > 5
    for page in named:
        assert command("docs", page).code == 0
    assert not re.search(r"docs/[\w/-]*\.md", texts)


def test_pages_are_listed(command):
    listed = command("docs").out.splitlines()
    assert {"audit", "benchmarks/speed"} <= {line.split()[0] for line in listed}
    assert command("docs", "audits").code == 2


def test_shells_complete_words(program, tmp_path):
    # Without detection of the shell, which depends on the parent process, the options take its name.
    own = {**os.environ, "HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}

    def answer(*arguments: str, **more: str) -> list[str]:
        ended = subprocess.run([*program, *arguments], text=True, capture_output=True, env={**own, **more})
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout.split()

    assert "_NOISELIMIT_COMPLETE=complete_bash" in answer("--show-completion", "bash")
    for words, found in (("de", ["decisions", "demo"]), ("audit --fas", ["--fast"]), ("unknown --fas", [])):
        asked = {"COMP_WORDS": f"noiselimit {words}", "COMP_CWORD": str(len(words.split()))}
        assert answer(**asked, _NOISELIMIT_COMPLETE="complete_bash") == found
    assert answer("--install-completion", "bash")
    assert list((tmp_path / ".bash_completions").iterdir())


def test_a_bug_is_not_hidden(monkeypatch, one_run):
    def broken(path):
        raise ZeroDivisionError

    monkeypatch.setattr("noiselimit.runs.folder.load_run", broken)
    with pytest.raises(ZeroDivisionError):
        run(["show", str(one_run)])


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (KeyboardInterrupt(), 130, "noiselimit show"),
        (PermissionError(13, "Permission denied", "some.json"), 2, "some.json"),
        (MemoryError(), 2, "memory"),
    ],
)
def test_errors_of_the_system_are_one_sentence(command, monkeypatch, one_run, error, code, word):
    def failing(path):
        raise error

    monkeypatch.setattr("noiselimit.runs.folder.load_run", failing)
    monkeypatch.setattr("noiselimit.cli.main._discard_output", lambda: None)
    answer = command("show", one_run)
    assert (answer.code, answer.out) == (code, "")
    assert word in answer.err
    assert answer.err.count("\n") == 1


def test_a_full_disk_is_one_sentence(program, trained):
    limited = ["sh", "-c", 'ulimit -f 0; "$@" > out.txt', "sh", *program, "show", str(trained)]
    ended = subprocess.run(limited, text=True, timeout=60, stderr=subprocess.PIPE)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1


def test_a_reader_that_ends_early_is_no_error(program, trained):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*program, "show", trained], text=True, timeout=60, stdout=writing, stderr=subprocess.PIPE
        )
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_a_pipe_gets_plain_text_even_without_unicode(program, trained):
    settings = {"PYTHONIOENCODING": "ascii", "TERM": "xterm-256color"}
    ended = subprocess.run(
        [*program, "show", trained],
        text=True,
        timeout=60,
        capture_output=True,
        env={**os.environ, **settings},
    )
    assert ended.returncode == 0
    assert ended.stdout.isascii()
    assert "\x1b" not in ended.stdout
