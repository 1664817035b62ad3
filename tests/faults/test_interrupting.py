"""SIGINT and SIGTERM end real processes soon, with their exit codes and the command to go on with."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

STUBBORN = """
import sys, time
from pathlib import Path
from noiselimit.cli.signals import Ending, telling
from noiselimit.files import folder_lock

ending = Ending()
ending.begin("train --data 'my data'")
ending.listen()
with telling(lambda: "epoch 7 of 1 run is kept"), folder_lock(Path(sys.argv[1])):
    while True:
        try:
            print("ready", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:  # as a step of a large network, which cannot be broken off
            pass
"""
PROGRAM = "from noiselimit.cli.main import main; main()"


def program(
    *arguments: str, ending: signal.Signals, code: str = PROGRAM, way: str = "-c"
) -> "subprocess.Popen[str]":
    """A process that hears Ctrl-C, unless SIGTERM must do: scripts start commands deaf to the former."""
    hearing = signal.SIG_DFL if ending == signal.SIGINT else signal.SIG_IGN
    return subprocess.Popen(
        [sys.executable, way, code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, hearing),
    )


def interrupted(
    ready: Callable[["subprocess.Popen[str]"], object],
    *arguments: str,
    ending: signal.Signals,
    code: str = PROGRAM,
) -> tuple[int, str, str]:
    """Exit code, output and complaints of a process that gets the signal when it is ready."""
    with program(*arguments, ending=ending, code=code) as process:
        try:
            ready(process)
            process.send_signal(ending)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    return process.returncode, out, err


def says_ready(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


BUSY = """
import sqlite3, sys, threading, time
from noiselimit.cli.signals import Ending

ending = Ending()
ending.begin("show runs")
ending.listen()
endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
database = sqlite3.connect(":memory:")


def call():
    database.execute(endless)  # one call, in which no Python runs in this thread


def tell(thread):
    while (frame := sys._current_frames()[thread]).f_code is not call.__code__ or (
        frame.f_lineno != call.__code__.co_firstlineno + 1
    ):
        time.sleep(0.001)
    print("ready", flush=True)


threading.Thread(target=tell, args=(threading.get_ident(),), daemon=True).start()
call()
"""


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_call_without_end_is_left(ending: signal.Signals, code: int) -> None:
    left, _, err = interrupted(says_ready, ending=ending, code=BUSY)
    assert left == code
    assert err == (
        "noiselimit: interrupted; nothing is half written, and the same command starts anew:\n"
        "noiselimit show runs\n"
    )


def test_ctrl_c_before_anything_has_begun() -> None:
    """While the command's own modules are imported, which one of them here makes long."""
    code = (
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'noiselimit.cli.main':\n"
        "            print('ready', flush=True); time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from noiselimit.__main__ import main; main()"
    )
    left, _, err = interrupted(says_ready, ending=signal.SIGINT, code=code)
    assert (left, err) == (130, "noiselimit: interrupted; nothing was begun.\n")


IMPORTING = """
import os, signal, sys

where, how, number = sys.argv.pop(1).split("/")


class Struck:
    def find_spec(self, name, path=None, target=None):
        if name == where:
            sys.meta_path.remove(self)
            strike = f"os.kill(os.getpid(), {number})\\nfor _ in range(1000): pass"
            if how == "text":  # as native modules and dataclasses do: Python marks itself as interrupted
                exec(strike)
            elif how == "error":
                try:
                    exec(strike)
                except BaseException:
                    raise ImportError("cannot import it: an extension has failed") from None
            else:
                exec(compile(strike, "strike", "exec"))


sys.meta_path.insert(0, Struck())
from noiselimit.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("where", "how", "ending"),
    [
        ("torch", "text", signal.SIGTERM),
        ("torch", "plain", signal.SIGINT),
        ("torch.nn", "error", signal.SIGTERM),
        ("sklearn.datasets", "text", signal.SIGINT),
    ],
)
def test_a_signal_while_libraries_are_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, how: str, ending: signal.Signals
) -> None:
    """Whatever an import that is broken off makes of it; as a module, which Python ends in another way."""
    monkeypatch.chdir(tmp_path)
    Path("struck.py").write_text(IMPORTING)
    typed = ["train", "--data", "digits", "--epochs", "1", "--out", "runs"]
    place = f"{where}/{how}/{int(ending)}"
    with program(place, *typed, ending=ending, code="struck", way="-m") as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (128 + ending, ""), err
    said, command = err.splitlines()
    assert said.startswith("noiselimit: interrupted; ")
    assert command == f"noiselimit {shlex.join(typed)}"
    assert not Path("runs").exists()


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_does_not_stop_is_left(tmp_path: Path, ending: signal.Signals, code: int) -> None:
    left, _, err = interrupted(says_ready, str(tmp_path), ending=ending, code=STUBBORN)
    assert left == code
    assert list(tmp_path.iterdir()) == [], "its lock's file goes with it"
    assert err == ("noiselimit: interrupted; epoch 7 of 1 run is kept:\nnoiselimit train --data 'my data'\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "begun", "ending", "sentence"),
    [
        (
            "demo --out shown",
            "shown/.lock",
            signal.SIGINT,
            "(nothing is kept yet, and the same command starts anew|epoch .* goes on)",
        ),
        (
            "train --data digits --epochs 1000000 --patience 1000000 --out runs --checkpoints 0",
            "runs/.checkpoints/epoch*",
            signal.SIGINT,
            r"epoch \d+ of 1 run is kept, and the same command goes on",
        ),
        (
            "audit digits --epochs 500 --checkpoints 0 --out found",
            ".found.unfinished/.checkpoints/epoch*",
            signal.SIGTERM,
            "no audit was written, and the same command goes on",
        ),
    ],
    ids=["demo", "train", "audit"],
)
def test_commands_keep_what_is_done_and_say_how_to_go_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    begun: str,
    ending: signal.Signals,
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [*typed.split(), "--quiet"]

    def has_begun(process: "subprocess.Popen[str]") -> None:
        give_up = time.monotonic() + 120
        while not list(Path().glob(begun)):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < give_up
            time.sleep(0.01)

    left, out, err = interrupted(has_begun, *arguments, ending=ending)
    assert left == {signal.SIGINT: 130, signal.SIGTERM: 143}[ending]
    assert out == ""
    said, command = err.splitlines()[-2:]
    assert re.fullmatch(f"noiselimit: interrupted; {sentence}:", said)
    assert command == f"noiselimit {shlex.join(arguments)}"
    assert not list(tmp_path.rglob("*.tmp"))
    assert not list(tmp_path.rglob(".lock"))
    assert not (tmp_path / "found").exists()
    if "speed.json" in typed:
        assert os.path.getsize("speed.json") > 0
