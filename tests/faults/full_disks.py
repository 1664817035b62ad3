"""A disk that fills: one sentence, what was done stays, and when there is room again the command goes on."""

import ctypes
import os
import random
import traceback
from pathlib import Path

from moments import at_change, refuse_files_beyond
from trials import Tally, Trial, Undisturbed

NEW_NAMESPACE, REMOUNT, PRIVATE = 0x00020000, 32, (1 << 14) | (1 << 18)
ROOM = 64 << 20
SAID = 4096
"""Bytes that a command may print: into a file too, and with both streams full nobody can be told anything."""


def full_by_limit(
    whole: Undisturbed, folder: Path, tally: Tally, chance: random.Random, place: float
) -> None:
    """From some moment on, files may not become larger than a few thousand bytes."""
    trial = Trial(whole, folder, tally, chance)
    number = 1 + int(place * 0.9 * whole.changes)
    size = max(int(10 ** chance.uniform(2.7, 4.3)), SAID)
    ended = trial.start(at_change(number, folder, refuse_files_beyond(size))).wait()
    _check(trial, ended.code, ended.said, "File too large", "limit on the size of files")
    trial.finish()


def full_tmpfs(whole: Undisturbed, folder: Path, tally: Tally, chance: random.Random, place: float) -> None:
    """A file system of few bytes, which only this trial sees; later it gets more."""
    size = int(place * 1.2e6) + 50_000
    pid = os.fork()
    if pid == 0:  # mounts are seen in this process and its children alone
        code = 1
        try:
            code = _in_namespace(whole, folder, chance, size)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == NO_MOUNT:
        tally.others["full tmpfs: not allowed here"] += 1
        return
    if code:
        tally.findings.append(f"full tmpfs, {folder.name}: failed")
    else:
        effect, *findings = folder.with_suffix(".found").read_text().splitlines()
        tally.findings += findings
        tally.others[effect] += 1
        tally.compared["folders"] += 1
        tally.compared["files"] += len(whole.content)
        tally.compared["bytes"] += sum(map(len, whole.content.values()))


NO_MOUNT = 77


def _in_namespace(whole: Undisturbed, folder: Path, chance: random.Random, size: int) -> int:
    libc = ctypes.CDLL(None)
    disk = folder.with_suffix(".disk")
    disk.mkdir()

    def mount(flags: int, room: int) -> int:
        options = f"size={room}".encode()
        return int(libc.mount(b"tmpfs", os.fsencode(disk), b"tmpfs", flags, options))

    if libc.unshare(NEW_NAMESPACE) or libc.mount(None, b"/", None, PRIVATE, None) or mount(0, size):
        return NO_MOUNT
    tally = Tally()
    trial = Trial(whole, disk / "folder", tally, chance)
    trial.log = folder.with_suffix(".said")  # not on the full disk
    ended = trial.start().wait()
    _check(trial, ended.code, ended.said, "No space left on device", "full tmpfs")
    if mount(REMOUNT, ROOM):
        return NO_MOUNT
    trial.finish()
    lines = [*tally.others, *(" ".join(text.split()) for text in tally.findings)]
    folder.with_suffix(".found").write_text("".join(f"{line}\n" for line in lines))
    return 0


def _check(trial: Trial, code: int, said: str, reason: str, kind: str) -> None:
    """It ended well, having said what it could not keep, or with one sentence that gives the reason."""
    name = trial.whole.command.name
    trial.tally.others[f"{kind} under {name}" if code or reason in said else f"{kind} without effect"] += 1
    last = said.splitlines()[-1] if said else ""
    if code not in (0, 2) or (code == 2 and not (last.startswith("noiselimit: ") and last.endswith("."))):
        trial.find(f"a full disk ended it with {code}: {said[-2000:]}")
    if code == 2 and reason not in said:
        trial.find(f"a full disk ended it without saying so: {said[-2000:]}")
    if "Traceback" in said:
        trial.find(f"a full disk made it say: {said[-3000:]}")
