"""The process in which bad files are read: limited, watched, and expendable.

Called as `python guard.py SAMPLES WORK SEED FIRST STOP`, it reads the cases FIRST … STOP − 1 and writes a
line of JSON for each. A case that hangs or crashes ends the process; the caller goes on after it.
"""

import faulthandler
import json
import os
import resource
import shutil
import sys
import time
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

SECONDS = 20
"""What takes longer hangs; the slowest good file takes a twentieth of a second."""
ADDRESS_SPACE = 3 * 2**30
"""Bytes that may be asked for beyond what the process has when it starts; asking for more is a finding."""
RESIDENT = 512 * 2**20
"""Bytes that reading any case may take beyond what the process held before."""
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.truncate",
}
RUNS = {
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "pickle.find_class",
    "socket.connect",
}


class Watch:
    """Notes what a case does beside reading; from Python's own audit events, which cannot be switched off."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        is_write = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES
        if (is_write and arguments[0] != os.devnull) or event in CHANGES or event in RUNS:
            self.seen.append(f"{event} {str(arguments[0])[:200]}")


def memory(name: str) -> int:
    """VmRSS, VmHWM or VmSize of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def forget_peak() -> None:
    """Make the highest resident memory count from now on, where the system allows it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _asked_too_much(error: BaseException | None) -> bool:
    """Whether memory ran out on the way to this error, even where a reader made a sentence of it."""
    while error is not None:
        if isinstance(error, MemoryError) or "allocate memory" in str(
            error
        ):  # pyarrow's is a MemoryError too
            return True
        error = error.__context__
    return False


def outcome(read: Any, watch: Watch) -> tuple[str, str]:
    """(read, refused or what else happened; where)."""
    from noiselimit.errors import InputError

    watch.seen.clear()
    watch.on = True
    try:
        read()
    except InputError as error:
        kind, place = ("memory", str(error)) if _asked_too_much(error) else ("refused", "")
        if not str(error) or len(str(error)) > 2000:
            kind, place = "no sentence", str(error)[:200]
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in last if "noiselimit" in frame.filename] or last
        kind = "memory" if _asked_too_much(error) else type(error).__name__
        place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}: {str(error)[:200]}"
    else:
        kind, place = "read", ""
    watch.on = False
    if watch.seen:
        return "did more than read", watch.seen[0]
    return kind, place


def main(samples: Path, work: Path, seed: int, first: int, stop: int) -> None:
    """Read the cases and tell what became of each."""
    import cases

    warnings.simplefilter("ignore")
    cases.warm_up(samples)
    limit = memory("VmSize") + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    watch = Watch()
    for number in range(first, stop):
        case = cases.make(samples, seed, number)
        print(json.dumps({"begin": number, "reader": case.reader, "file": case.file}), flush=True)
        folder = work / "case"
        shutil.copytree(samples / case.folder, folder)
        (folder / case.file).write_bytes(case.content)
        forget_peak()
        before, started, used = memory("VmRSS"), time.perf_counter(), time.process_time()
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        kind, place = outcome(lambda folder=folder, case=case: case.read(folder), watch)
        faulthandler.cancel_dump_traceback_later()
        took, used = time.perf_counter() - started, time.process_time() - used
        peak = memory("VmHWM") - before
        if kind in ("read", "refused") and peak > RESIDENT:
            kind, place = "memory", f"{peak >> 20} MiB"
        said = {"end": number, "kind": kind, "place": place, "seconds": took, "used": used, "peak": peak}
        print(json.dumps(said), flush=True)
        shutil.rmtree(folder)


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    arguments = sys.argv[1:]
    main(Path(arguments[0]), Path(arguments[1]), *(int(text) for text in arguments[2:5]))
