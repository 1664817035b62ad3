"""Kill, interrupt, fill disks and damage files: `make faults`; what came of it goes to results/faults.json.

After every fault the command goes on, and its folder must be, file by file and bit by bit, that of a command
that nothing happened to; the exit code is 1 if one was not. A few seconds of importing, then every trial is a
function of the seed, but for the moment at which a process meets a signal.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # whoever forks must have no other threads
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "faults")]
from campaign import LONG, SHORT, faults  # noqa: E402
from trials import Tally  # noqa: E402

RESULTS = ROOT / "results" / "faults.json"
LIBRARIES = ("numpy", "pandas", "pyarrow", "safetensors", "torch")


def content(seed: int, tally: Tally, seconds: float, *, finished: bool) -> dict[str, Any]:
    """What results/faults.json holds."""
    return {
        "command": "make faults",
        "finished": finished,
        "seed": seed,
        "kills": [
            {"command": command, "when": when, "while": doing, "number": number}
            for (command, when, doing), number in sorted(tally.kills.items())
        ],
        "others": dict(sorted(tally.others.items())),
        "missed": dict(sorted(tally.missed.items())),
        "compared": dict(tally.compared),
        "longest_end_after_a_signal_seconds": round(tally.longest_end, 2),
        "findings": tally.findings,
        "seconds": round(seconds, 1),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
    }


def main() -> int:
    """Do it and write; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--short", action="store_true", help="A few faults of every kind.")
    parser.add_argument("--only", metavar="COMMAND", help="train, audit, 'bench detection', demo or bench")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    started, told = time.monotonic(), 0

    def news(text: str, tally: Tally) -> None:
        nonlocal told
        for finding in tally.findings[told:]:
            print("FOUND", finding, flush=True)
        told = len(tally.findings)
        print(f"{time.monotonic() - started:5.0f} s, {tally.kills.total()} kills; {text}", flush=True)
        write(tally, finished=False)

    def write(tally: Tally, *, finished: bool) -> None:
        result = content(chosen.seed, tally, time.monotonic() - started, finished=finished)
        chosen.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")

    with tempfile.TemporaryDirectory() as folder:
        wanted, place = SHORT if chosen.short else LONG, Path(folder).resolve()
        tally = faults(wanted, chosen.seed, place, news, chosen.only)
    write(tally, finished=True)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
