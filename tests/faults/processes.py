"""Which processes there are; all are looked for in /proc."""

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc/self/stat").exists()


def processes_in(session: int) -> list[int]:
    """Those that were started in the session and have not ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            _, _, rest = (place / "stat").read_text().rpartition(") ")
            state, _, _, its_session, *_ = rest.split()
            if int(its_session) == session and state not in "ZX":
                found.append(int(place.name))
    return found


def left_after_kill(process: "subprocess.Popen[str]", patience: float = 30.0) -> list[str]:
    """Kill a process that leads a session: the commands of those that outlive it, which end here as well."""
    process.kill()
    process.wait()
    give_up = time.monotonic() + patience
    while (left := processes_in(process.pid)) and time.monotonic() < give_up:
        time.sleep(0.05)
    commands = [command_of(each) for each in left]
    for each, command in zip(left, commands, strict=True):
        if "resource_tracker" not in command:  # that tidies up and ends by itself
            with suppress(OSError):
                os.kill(each, 9)
    return commands


def command_of(process: int) -> str:
    """How it was started."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
