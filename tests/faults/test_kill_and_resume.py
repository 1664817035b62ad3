"""Killed, interrupted or out of disk space, a command resumes and leaves the same files, bit by bit."""

import shlex
import signal
from pathlib import Path

import pytest

from tests.faults.commands import AUDIT, EVERY_EPOCH, TRAIN, count_changes, run, snapshot

COMMANDS = {"train": TRAIN, "audit": AUDIT}
Whole = dict[str, tuple[dict[str, bytes], int]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """For each command, what it leaves undisturbed, and how many changes on disk it makes."""
    found = {}
    for name, words in COMMANDS.items():
        folder = tmp_path_factory.mktemp("whole") / name
        ended = run([*words, *EVERY_EPOCH, "--threads", "1"], folder)
        assert ended.returncode == 0, ended.stderr
        found[name] = snapshot(folder), count_changes(folder)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("place", [0.1, 0.8, 0.98])
@pytest.mark.parametrize("name", COMMANDS)
def test_kill_9(whole: Whole, tmp_path: Path, name: str, place: float) -> None:
    folder, (expected, changes) = tmp_path / "folder", whole[name]
    words = [*COMMANDS[name], *EVERY_EPOCH]
    killed = run([*words, "--threads", "1"], folder, change=int(place * changes), signal=signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    if (folder / "found").exists():  # it was done, except for cleaning up
        assert run(words, folder).returncode == 2
        assert snapshot(folder) == expected
        return
    has_note = (folder / "runs" / ".command.json").exists()
    resumed = run(
        ["train", "--resume", "runs"] if has_note and place > 0.5 else [*words, "--threads", "2"], folder
    )
    assert resumed.returncode == 0, resumed.stderr
    assert snapshot(folder) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("name", COMMANDS)
def test_signals(whole: Whole, tmp_path: Path, name: str, number: signal.Signals, code: int) -> None:
    folder, (expected, changes) = tmp_path / "folder", whole[name]
    words = [*COMMANDS[name], *EVERY_EPOCH]
    ended = run(words, folder, change=changes // 6, signal=number)
    assert ended.returncode == code, ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.splitlines()[-1].endswith(shlex.join(["noiselimit", *words]))
    assert not list(folder.rglob("*.tmp"))
    resumed = run(words, folder)
    assert resumed.returncode == 0, resumed.stderr
    assert "from epoch" in resumed.stderr
    assert snapshot(folder) == expected


@pytest.mark.slow
def test_a_full_disk(whole: Whole, tmp_path: Path) -> None:
    """Here by a limit on the size of files: checkpoints fail with a warning, runs with a sentence."""
    words, folder = [*TRAIN, *EVERY_EPOCH], tmp_path / "folder"
    ended = run(words, folder, largest_file=4096)
    assert ended.returncode == 2, ended.stderr
    assert "checkpoints" in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("noiselimit: cannot write runs/")
    assert "File too large" in ended.stderr
    assert "Traceback" not in ended.stderr
    resumed = run(words, folder)
    assert resumed.returncode == 0, resumed.stderr
    assert snapshot(folder) == whole["train"][0]
