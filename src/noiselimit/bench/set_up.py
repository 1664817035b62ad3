"""From the start of a process until its training runs: imports, data, compilation, capture."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path
from statistics import median

from noiselimit.bench.entries import Entry
from noiselimit.bench.session import Session, Tell
from noiselimit.bench.timing import forget_memory
from noiselimit.bench.work import DIGITS_LIMIT, MNIST, Work
from noiselimit.cohort.worker_processes import watch

EPOCHS = 3
CACHES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
"""Where compiled kernels are kept; a folder of our own in their place is cold at first, then warm."""
CHILD = (
    "import sys; from noiselimit.cohort.worker_processes import end_with_parent; end_with_parent(); "
    "from noiselimit.bench.set_up_child import main; main(sys.argv[1:])"
)


def set_up(session: Session, tell: Tell) -> list[Entry]:
    """A fresh process twice: with empty caches of compiled kernels, then with those it left."""
    work = MNIST if session.device.type == "cuda" else DIGITS_LIMIT
    entries = []
    forget_memory(session.device)  # which the other process may need
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for number, state in enumerate(("cold", "warm")):
            lines = _run_child(session, work, Path(folder))
            entries.append(set_up_entry(state, lines, work))
            tell((number + 1) / 2)
    return entries


def set_up_entry(state: str, lines: Sequence[tuple[float, str]], work: Work) -> Entry:
    """From what the process said, with seconds since its start: the first epoch's end less an epoch."""
    ends = [seconds for seconds, line in lines if line == "epoch"]
    notices = [line.removeprefix("notice ") for _, line in lines if line.startswith("notice ")]
    epochs = [after - before for before, after in pairwise(ends)]
    return {
        "row": f"set-up-{state}",
        "set_up_seconds": ends[0] - median(epochs),
        "epoch_ends": ends,
        "k": 1,
        "n": next(int(line.split()[1]) for _, line in lines if line.startswith("examples ")),
        "batch": work.batch_size,
        "network": work.network,
        "method": work.method,
        "repeats": 1,
        "notices": notices,
    }


def _run_child(session: Session, work: Work, caches: Path) -> list[tuple[float, str]]:
    arguments = [
        work.data,
        str(session.effort.examples.get(work.data, 0)),
        str(session.effort.test_examples),
        str(session.device),
        str(EPOCHS),
        *astuple(session.way),
    ]
    environment = {**os.environ, **{name: str(caches / name) for name in CACHES}}
    return timed_lines([sys.executable, "-c", CHILD, *arguments], environment)


def timed_lines(
    command: Sequence[str],
    environment: dict[str, str] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[tuple[float, str]]:
    """Every line that the process prints, with the seconds from its start until the line was there."""
    with tempfile.TemporaryFile("w+") as errors, watch() as watched:
        started = clock()
        process = subprocess.Popen(
            command, stdin=watched, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
        with process:
            assert process.stdout is not None
            try:
                lines = [(clock() - started, line.strip()) for line in process.stdout]
            except BaseException:
                process.kill()  # whoever interrupts us does not wait for it
                raise
        if process.returncode:
            errors.seek(0)
            said = errors.read().strip().splitlines()
            raise RuntimeError(f"the process ended with {process.returncode}: {said[-1] if said else ''}")
    return lines
