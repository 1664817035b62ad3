"""The command as a whole: help, version, how it ends, and what reaches a pipe."""

import os
import re
import subprocess
import sys

import pytest

from noiselimit import __version__
from noiselimit.cli.main import run


def test_version(command):
    assert command("--version").out == f"noiselimit {__version__}\n"


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands_with_whole_sentences(command, arguments):
    answer = command(*arguments)
    assert (answer.code, answer.err) == (0, "")
    lines = {line.split()[0]: line for line in answer.out.splitlines() if line}
    for name in ("demo", "noise", "train", "show", "predict", "export"):
        assert lines[name].endswith(".")
        assert "..." not in lines[name]


@pytest.mark.parametrize("name", ["demo", "noise", "train", "show", "predict", "export"])
def test_every_command_has_help_and_json(command, name):
    answer = command(name, "--help")
    assert answer.code == 0
    assert "--json" in answer.out
    assert not re.search(r"--\S+ <", answer.out)  # what to give, not the type it has in Python


def test_help_is_quick_because_it_imports_nothing_heavy():
    code = (
        "import sys; from noiselimit.cli.main import run; run(['train', '--help']); "
        "print({'torch', 'numpy', 'pandas', 'sklearn', 'rich'} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "set()"


def test_an_error_of_ours_is_not_hidden(monkeypatch, one_run):
    def broken(path):
        raise ZeroDivisionError

    monkeypatch.setattr("noiselimit.runs.load_run", broken)
    with pytest.raises(ZeroDivisionError):
        run(["show", str(one_run)])


def test_an_interrupt_ends_with_130_and_a_sentence(command, monkeypatch, one_run):
    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("noiselimit.runs.load_run", interrupted)
    answer = command("show", one_run)
    assert answer.code == 130
    assert answer.err == (
        "noiselimit: interrupted; nothing is half written, and the same command starts anew:\n"
        f"noiselimit show {one_run}\n"
    )


def test_what_the_system_refuses_is_one_sentence(command, monkeypatch, one_run):
    def refused(path):
        raise PermissionError(13, "Permission denied", "some.json")

    monkeypatch.setattr("noiselimit.runs.load_run", refused)
    answer = command("show", one_run)
    assert answer.code == 2
    assert answer.err.startswith("noiselimit: some.json cannot be used (Permission denied): ")


@pytest.mark.parametrize("words", [["--out", ""], ["--out="]])
@pytest.mark.parametrize(
    "typed",
    [
        "train --data digits",
        "demo",
        "audit digits",
        "predict r digits",
        "export r",
    ],
)
def test_an_empty_place_is_not_the_working_folder(command, tmp_path, monkeypatch, typed, words):
    monkeypatch.chdir(tmp_path)
    answer = command(*typed.split(), *words)
    assert answer.code == 2
    assert answer.err == "noiselimit: --out is empty: name a file or folder.\n"
    assert not list(tmp_path.iterdir())


def test_a_message_of_several_lines_becomes_one(command):
    assert command("show", "two\nlines").err.startswith("noiselimit: there is no run folder two lines: ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a disk that is always full")
def test_a_full_disk_is_one_sentence(program, trained):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*program, "show", trained], text=True, timeout=60, stdout=full, stderr=subprocess.PIPE
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith("noiselimit: the output cannot be used (No space left on device)")
    assert ended.stderr.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a disk that is always full")
@pytest.mark.parametrize("typed", [["--version"], ["show", "absent"]])
def test_where_nothing_can_be_said_the_exit_code_must_do(program, typed):
    with open("/dev/full", "w") as full:
        ended = subprocess.run([*program, *typed], timeout=60, stdout=full, stderr=full)
    assert ended.returncode == 2


@pytest.mark.skipif(os.name == "nt", reason="needs a shell that closes streams")
@pytest.mark.parametrize(
    ("closed", "typed", "code", "out", "err"),
    [
        (">&-", "--version", 0, "", ""),
        (">&-", "shw", 2, "", "noiselimit: unknown command 'shw'"),
        ("2>&-", "--version", 0, "noiselimit", ""),
        ("2>&-", "shw", 2, "", ""),
        ("<&- >&- 2>&-", "--help", 0, "", ""),
        ("<&- >&- 2>&-", "shw", 2, "", ""),
    ],
)
def test_what_is_said_on_a_closed_stream_goes_nowhere(program, closed, typed, code, out, err):
    shell = ["sh", "-c", f'"$@" {closed}', "sh", *program, typed]
    ended = subprocess.run(shell, text=True, timeout=60, capture_output=True)
    assert ended.returncode == code
    assert (ended.stdout.startswith(out), bool(ended.stdout)) == (True, bool(out))
    assert (ended.stderr.startswith(err), ended.stderr.count("\n")) == (True, bool(err))


@pytest.mark.skipif(os.name == "nt", reason="needs a shell that closes streams")
def test_no_file_gets_the_number_of_a_closed_stream(tmp_path):
    code = (
        "import os, sys; from noiselimit.cli.signals import open_closed; open_closed(); "
        "sys.exit(os.open(os.devnull, os.O_RDONLY))"
    )
    ended = subprocess.run(["sh", "-c", '"$0" -c "$1" <&- >&- 2>&-', sys.executable, code], timeout=60)
    assert ended.returncode > 2


def test_a_reader_that_goes_away_is_no_error(program, trained):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*program, "show", trained], text=True, timeout=60, stdout=writing, stderr=subprocess.PIPE
        )
    finally:
        os.close(writing)
    assert ended.returncode == 141
    assert ended.stderr == ""


def test_a_pipe_gets_clean_text_even_without_unicode(program, trained):
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
