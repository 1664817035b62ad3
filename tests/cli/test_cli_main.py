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
