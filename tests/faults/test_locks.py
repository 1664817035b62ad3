"""One process at a time in a folder, by a lock that dies with its holder."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from noiselimit import files as locks
from noiselimit.cli.main import run as command_line
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.files import FILE, file_lock, folder_lock
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train

HOLDER = """
import os, sys, time
from pathlib import Path
from noiselimit.files import file_lock, folder_lock

lock = file_lock if "file" in sys.argv else folder_lock
with lock(Path(sys.argv[1])):
    if "child" in sys.argv:
        there, here = os.pipe()
        if os.fork() == 0:
            os.write(here, b".")  # what runs at a fork has run
            time.sleep(120)  # outlives its parent, and must not hold what that held
        os.read(there, 1)
    print(os.getpid(), flush=True)
    time.sleep(120)
"""
AUDITS = """
import fcntl, os, sys, time
from pathlib import Path
from noiselimit import files as locks
from noiselimit.cli.audit import unfinished_folder

locks.PATIENCE = 60
inside = Path(sys.argv[1], "inside")


def hold(round):
    with unfinished_folder(Path(sys.argv[1], "found")) as folder:
        with inside.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails where another is inside
            for name in range(50):  # removing them takes a while
                (folder / str(name)).mkdir(parents=True)
                (folder / str(name) / "metrics.json").write_text("{}")
            if round % 4 == 3:
                raise ZeroDivisionError  # then nothing is worth keeping


def work():
    for round in range(10):
        try:
            hold(round)
        except ZeroDivisionError:
            pass
        time.sleep(0.002)


children = []
for _ in range(3):
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException as error:
            print(repr(error), flush=True)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""


@contextmanager
def holding(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the folder, ready."""
    command = [sys.executable, "-c", HOLDER, str(folder), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # a session of its own: nobody else is in it
        process.wait()
        process.stdout.close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "PATIENCE", 0.1)


def test_a_second_process_is_refused_with_the_folder_and_the_holder(blobs: DataSet, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    with holding(out) as process:
        sentence = f"{out} is in use by process {process.pid}: wait until it ends, or choose another folder."
        with pytest.raises(InputError) as refused:
            train(RunSpec("ce", epochs=1), blobs, out=out)
        assert str(refused.value) == sentence
        assert [path.name for path in out.iterdir()] == [FILE]
    train(RunSpec("ce", epochs=1, network="linear"), blobs, out=out, threads=1)
    assert FILE not in {path.name for path in out.iterdir()}


@pytest.mark.parametrize(
    ("typed", "way"),
    [
        ("train --data digits --epochs 1 --out found", "folder"),
        ("demo --out found", "folder"),
        ("audit digits --epochs 1 --out found", "file"),
    ],
)
def test_commands_are_refused_too(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    way: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with holding(tmp_path / "found", way) as process:
        assert command_line([*typed.split(), "--quiet"]) == 2
    assert capsys.readouterr().err == (
        f"noiselimit: found is in use by process {process.pid}: "
        "wait until it ends, or choose another folder.\n"
    )


@pytest.mark.parametrize("words", [(), ("child",)])
def test_the_lock_dies_with_its_holder(tmp_path: Path, words: tuple[str, ...]) -> None:
    with holding(tmp_path, *words) as process:
        process.kill()
        process.wait()
        assert (tmp_path / FILE).exists(), "a killed process tidies nothing up"
        with folder_lock(tmp_path):
            assert (tmp_path / FILE).read_text().split()[0] == str(os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_who_waits_gets_it_when_the_holder_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "PATIENCE", 60.0)
    got = threading.Event()

    def wait() -> None:
        with folder_lock(tmp_path / "runs"):
            got.set()

    waiting = threading.Thread(target=wait)
    with folder_lock(tmp_path / "runs"):
        waiting.start()
        assert not got.wait(0.2)
    waiting.join(60)  # though the file that it waited for, and perhaps the folder, are gone by now
    assert got.is_set()
    assert not list(tmp_path.rglob(FILE))


def test_who_holds_it_may_ask_again(tmp_path: Path) -> None:
    with folder_lock(tmp_path):
        with folder_lock(tmp_path / "."):
            pass
        assert (tmp_path / FILE).exists()
        with holding(tmp_path / "other"):
            pass
    assert not (tmp_path / FILE).exists()


def test_folders_made_for_nothing_go(tmp_path: Path) -> None:
    with folder_lock(tmp_path / "a" / "b"):
        (tmp_path / "a" / "kept").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "kept"]


def test_another_machine_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with holding(tmp_path) as process:
        monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
        with (
            pytest.raises(InputError, match=rf"in use by process {process.pid} on .+: wait"),
            folder_lock(tmp_path),
        ):
            pass


def test_a_file_is_held_in_the_same_way(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    with file_lock(out):
        refused: list[str] = []

        def second() -> None:  # another thread is another holder
            with pytest.raises(InputError) as error, file_lock(out):
                pass
            refused.append(str(error.value))

        thread = threading.Thread(target=second)
        thread.start()
        thread.join(60)
        assert refused == [
            f"{out} is in use by process {os.getpid()}: wait until it ends, or name another file."
        ]
    assert list(tmp_path.iterdir()) == []


def test_audits_of_one_name_are_never_two_at_a_time(tmp_path: Path) -> None:
    """Each moves away, or removes, what it has kept while others wait."""
    command = [sys.executable, "-c", AUDITS, str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


def test_who_ends_leaves_the_lock_of_another_alone(tmp_path: Path) -> None:
    """As when somebody has deleted the file, and the next has found none."""
    with folder_lock(tmp_path):
        (tmp_path / FILE).unlink()
        (tmp_path / FILE).write_text("another's")
    assert (tmp_path / FILE).read_text() == "another's"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("kept")
    (tmp_path / FILE).symlink_to(target)
    with pytest.raises(InputError, match="cannot be opened"), folder_lock(tmp_path):
        pass
    assert target.read_text() == "kept"


def test_file_systems_without_locks_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unable(handle: int, how: int) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", unable)
    with folder_lock(tmp_path), folder_lock(tmp_path):
        pass


@contextmanager
def ctrl_c_at(line: int) -> Iterator[None]:
    """An interrupt before the given line, counted over all that is executed there, of this module's code."""
    left = line

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != locks.__file__:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("left_by_the_killed", [False, True])
def test_ctrl_c_at_any_line_of_taking_it_leaves_nothing(tmp_path: Path, left_by_the_killed: bool) -> None:
    for line in count():
        if left_by_the_killed:
            (tmp_path / "runs").mkdir(exist_ok=True)
            (tmp_path / "runs" / FILE).touch()
        lock = folder_lock(tmp_path / "runs")
        try:
            with ctrl_c_at(line):
                lock.__enter__()
        except KeyboardInterrupt:
            if not left_by_the_killed:
                assert list(tmp_path.iterdir()) == []
            assert locks._held == {}
            with folder_lock(tmp_path / "runs"):  # nothing is in the way
                pass
        else:
            lock.__exit__(None, None, None)
            break
    assert line > 10
