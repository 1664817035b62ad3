"""Reads many bad files in processes that may die, and counts what came of it."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"
GOOD = ("read", "refused")
PATIENCE = 90
"""Seconds without a line from the process, its start included, before it counts as hanging."""


@dataclass
class Tally:
    """What came of the cases so far."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    longest: float = 0.0
    """Seconds on the clock, in which others may have used the machine, of the case `slowest`."""
    slowest: int | None = None
    used: float = 0.0
    """The most seconds of the processor that a case took."""
    peak: int = 0

    @property
    def cases(self) -> int:
        return sum(sum(counts.values()) for counts in self.outcomes.values())

    def add(
        self,
        case: dict[str, Any],
        kind: str,
        place: str = "",
        *,
        seconds: float = 0.0,
        used: float = 0.0,
        peak: int = 0,
    ) -> None:
        self.outcomes.setdefault(case["reader"], Counter())[kind if kind in GOOD else "finding"] += 1
        if seconds > self.longest:
            self.longest, self.slowest = seconds, case["begin"]
        self.used, self.peak = max(self.used, used), max(self.peak, peak)
        if kind not in GOOD:
            self.findings.append(
                {
                    "number": case["begin"],
                    "reader": case["reader"],
                    "file": case["file"],
                    "kind": kind,
                    "place": place,
                }
            )


def fuzz(seed: int, cases: int, samples: Path, news: Any = None, *, first: int = 0) -> Tally:
    """Read that many cases of the seed, counted from `first`; `samples` holds the good files."""
    tally, started, done = Tally(), time.monotonic(), first
    while done < first + cases:
        done = _one_process(seed, done, first + cases, samples, tally, news)
    tally.seconds = time.monotonic() - started
    return tally


def _one_process(seed: int, first: int, stop: int, samples: Path, tally: Tally, news: Any) -> int:
    """Read cases until the last, or until one ends the process; returns the number of the next."""
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{HERE}", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, str(HERE / "guard.py"), str(samples), work, *map(str, (seed, first, stop))]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env=environment, cwd=work
        ) as process:
            case: dict[str, Any] | None = None
            for line in _lines(process):
                said = json.loads(line)
                if "begin" in said:
                    case = said
                    continue
                assert case is not None
                tally.add(case, **{name: said[name] for name in ("kind", "place", "seconds", "used", "peak")})
                first, case = said["end"] + 1, None
                if news is not None:
                    news(first, tally)
            process.kill()
            code = process.wait()
        left = [path.name for path in Path(work).iterdir() if path.name != "case"]
        errors.seek(0)
        said_last = errors.read()[-1500:]
    if left:
        tally.findings.append({"number": first - 1, "kind": "files written", "place": str(left)})
    if case is not None:
        tally.add(case, f"process ended ({code})", said_last)
        return int(case["begin"]) + 1
    assert first >= stop, f"the process did not start: {said_last}"
    return first


def _lines(process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """Lines as they come, until the process ends or says nothing for too long."""
    assert process.stdout is not None
    pipe, begun = process.stdout.fileno(), b""
    while select.select([pipe], [], [], PATIENCE)[0] and (piece := os.read(pipe, 2**16)):
        *lines, begun = (begun + piece).split(b"\n")
        yield from lines
