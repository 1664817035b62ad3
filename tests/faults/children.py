"""Children that run one command line each and may be killed anywhere; they are forked, so they start at once.

The process that forks them has imported everything and never trains or starts a thread itself. Who is sent a
signal starts anew instead, as from a shell, and is left to end by itself.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

LIMIT = 300.0
"""Seconds after which a child is taken to hang."""


def nothing() -> None:
    """Leave the child alone."""


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    code: int
    """Exit code; negative: the signal that killed it."""
    said: str
    """On stdout and stderr."""
    seconds: float
    """From its start, or from the signal that it was sent, to its end."""

    @property
    def killed(self) -> bool:
        return self.code < 0


@dataclass
class Child:
    """One that is running."""

    pid: int
    log: Path
    started: float

    def wait(self) -> Ended:
        """Until it has ended."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - self.started > LIMIT:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise AssertionError(f"a child hangs: {self.log.read_text()}")
            time.sleep(0.002)
        code = os.waitstatus_to_exitcode(status)
        return Ended(code, self.log.read_text(errors="replace"), time.monotonic() - self.started)

    def send(self, number: int, after: float) -> Ended:
        """Let it run for so long, send the signal, and wait; it may have ended by then."""
        time.sleep(after)
        self.started = time.monotonic()
        os.kill(self.pid, number)  # not waited for yet, so the number is still its own
        return self.wait()


LAUNCH = """
import sys
from pathlib import Path

place, change, number, note = sys.argv[1:5]
sys.path.insert(0, place)
from moments import at_change, signal_itself

at_change(int(change), Path.cwd(), signal_itself(int(number), Path(note)))()
sys.argv[1:] = sys.argv[5:]
from noiselimit.__main__ import main

main()
"""


def start_anew(
    arguments: Sequence[str], folder: Path, change: int, number: signal.Signals, note: Path
) -> Child:
    """Run the installed command's own code, which gets a signal before a change and notes when in a file."""
    words = ["-c", LAUNCH, str(Path(__file__).parent), str(change), str(int(number)), str(note), *arguments]

    def fault() -> None:
        os.environ["PYTHONPATH"] = os.pathsep.join(each for each in sys.path if each)
        os.execv(sys.executable, [sys.executable, *words])

    return start((), folder, fault)


def start(
    arguments: Sequence[str],
    folder: Path,
    fault: Callable[[], None] = nothing,
    log: Path | None = None,
) -> Child:
    """Run `noiselimit ARGUMENTS` in the folder; `fault` prepares what shall happen to it, in the child."""
    log = folder.with_name(f"{folder.name}.said") if log is None else log
    pid = os.fork()
    if pid:
        return Child(pid, log, time.monotonic())
    code = 70
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(handle, stream)
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["noiselimit", *arguments]
        fault()
        from noiselimit.cli.main import main

        main()
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
