"""Read thousands of damaged and hostile files: `make fuzz`; what came of it goes to results/fuzz.json.

Every file must be read or refused in one sentence, within the limits of time and memory that
tests/hostile/guard.py states; the exit code is 1 if any was not. A case is a function of seed and number:
`--first N --cases 1` repeats it.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "hostile"))
from fuzzing import HERE, SOURCE, Tally, fuzz  # noqa: E402
from guard import ADDRESS_SPACE, RESIDENT, SECONDS  # noqa: E402

RESULTS = ROOT / "results" / "fuzz.json"
LIBRARIES = ("numpy", "pandas", "pillow", "pyarrow", "safetensors", "torch")


def prepare(folder: Path) -> None:
    """Fill the folder with good files."""
    environment = {"PYTHONPATH": f"{SOURCE}:{HERE}", "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, str(HERE / "prepare.py"), str(folder)], check=True, env=environment, cwd=folder
    )


def content(seed: int, tally: Tally) -> dict[str, Any]:
    """What results/fuzz.json holds."""
    return {
        "command": "make fuzz",
        "seed": seed,
        "cases": tally.cases,
        "readers": {name: dict(sorted(counts.items())) for name, counts in tally.outcomes.items()},
        "findings": tally.findings,
        "seconds": round(tally.seconds, 1),
        "longest_case_seconds": round(tally.longest, 2),
        "longest_case": tally.slowest,
        "most_processor_seconds_of_a_case": round(tally.used, 2),
        "peak_memory_of_a_case": tally.peak,
        "limits": {"seconds": SECONDS, "resident_bytes": RESIDENT, "address_space_bytes": ADDRESS_SPACE},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
    }


def main() -> int:
    """Fuzz and write; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--cases", type=int, default=24_000)
    parser.add_argument("--first", type=int, default=0, help="begin with this case")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()

    told: list[dict[str, Any]] = []

    def news(done: int, tally: Tally) -> None:
        for finding in tally.findings[len(told) :]:
            told.append(finding)
            print(json.dumps(finding), flush=True)
        if done % 500 == 0:
            print(f"{done} cases, {len(tally.findings)} findings", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        tally = fuzz(chosen.seed, chosen.cases, Path(folder), news, first=chosen.first)
    for finding in tally.findings[len(told) :]:
        print(json.dumps(finding))
    chosen.out.write_text(json.dumps(content(chosen.seed, tally), indent=1) + "\n", "utf-8")
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
