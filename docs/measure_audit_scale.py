"""Measures what docs/audit.md says of size: seconds and memory of an audit of many rows, and of many classes.

    python docs/measure_audit_scale.py            → results/audit-scale.json (CPU, about a quarter of an hour)
    python docs/measure_audit_scale.py --quick    shrinks everything, to see that it works; prints

The data are Gaussian clouds, a fifth of whose labels are wrong. The audit is `noiselimit audit` with its
defaults, in a process of its own, whose peak memory the system reports.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from noiselimit.bench.provenance import source_state
from noiselimit.files import json_text, write_json
from noiselimit.machine import available_cores
from noiselimit.runs.scores import roc_auc
from noiselimit.training import circumstances
from pages.audit.runs import OUTDATED, is_outdated, rows_like
from pages.performance.words import markdown, measured_on

RESULTS = Path(__file__).resolve().parent.parent / "results" / "audit-scale.json"
SHARE_WRONG = 0.2
COMMAND = "from noiselimit.cli.main import main; main()"


@dataclass(frozen=True)
class Problem:
    """What is audited."""

    rows: int
    features: int
    classes: int
    spread: float
    """Standard deviation of the clouds' centres, each cloud having 1."""
    ending: str


PROBLEMS = (Problem(1_000_000, 50, 10, 0.5, ".parquet"), Problem(100_000, 50, 1000, 1.0, ".npz"))
QUICK = (Problem(20_000, 50, 10, 0.5, ".parquet"), Problem(12_000, 50, 1000, 1.0, ".npz"))


def make_data(problem: Problem, path: Path) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Write the data; [rows] which labels are wrong, which the file does not tell."""
    generator = np.random.default_rng(0)
    right = generator.integers(0, problem.classes, problem.rows)
    centres = generator.normal(size=(problem.classes, problem.features)) * problem.spread
    inputs = generator.standard_normal((problem.rows, problem.features), dtype=np.float32)
    inputs += centres.astype(np.float32)[right]
    wrong = generator.random(problem.rows) < SHARE_WRONG
    shift = generator.integers(1, problem.classes, problem.rows)
    given = np.where(wrong, (right + shift) % problem.classes, right)
    if path.suffix == ".npz":
        np.savez(path, X=inputs, y=given)
    else:
        frame = pd.DataFrame(inputs, columns=[f"x{number}" for number in range(problem.features)])
        frame.assign(label=given).to_parquet(path)
    return np.asarray(wrong)


def measure(problem: Problem, threads: int) -> dict[str, Any]:
    """Seconds and peak memory of one audit, and whether it found the wrong labels."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, f"data{problem.ending}"), Path(folder, "audit")
        wrong = make_data(problem, data)
        options = ["--out", str(out), "--threads", str(threads), "--device", "cpu", "--quiet"]
        if problem.classes * 10 > problem.rows:
            options.append("--many-classes")
        started = time.perf_counter()
        answer = Path(folder, "answer.json")
        with answer.open("w") as file:
            child = subprocess.Popen(
                [sys.executable, "-c", COMMAND, "audit", str(data), *options, "--json"],
                stdout=file,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        if os.waitstatus_to_exitcode(status):
            sys.exit(f"the audit of {problem} failed")
        table = pd.read_parquet(out / "label_issues.parquet")
        flagged = table["is_label_issue"].to_numpy(bool)
        return {
            **asdict(problem),
            "file_mib": round(data.stat().st_size / 2**20, 1),
            "report_mib": round((out / "report.html").stat().st_size / 2**20, 2),
            "seconds": round(seconds, 1),
            "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
            "peak_memory_mib": round(used.ru_maxrss / 1024, 1),
            "wrong": float(wrong.mean()),
            "flagged": float(flagged.mean()),
            "flagged_and_wrong": float((flagged & wrong).mean()),
            "auroc": roc_auc(table["gap"].to_numpy(), wrong),
            "runs": json.loads(answer.read_text("utf-8"))["runs"],
        }


def stored() -> dict[str, Any] | None:
    """What was measured last; None where nothing was."""
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else None


def table(content: dict[str, Any] | None) -> str:
    """What docs/audit.md says of size, as Markdown."""
    if content is None:
        return f"Not measured yet: results/{RESULTS.name}."
    columns = "data, file, time, processor time, peak memory, AUROC of the gap, wrong labels, flagged"
    rows = [
        [
            f"{row['rows']:,} × {row['features']} numbers, {row['classes']:,} classes",
            f"{row['ending']}, {row['file_mib']:,.0f} MiB",
            f"{row['seconds']:,.0f} s",
            f"{row['processor_seconds']:,.0f} s",
            f"{row['peak_memory_mib'] / 1024:.1f} GiB",
            f"{row['auroc']:.4f}",
            f"{100 * row['wrong']:.1f} %",
            f"{100 * row['flagged']:.1f} %",
        ]
        for row in content["rows"]
    ]
    return "\n\n".join(
        [
            markdown(columns.split(", "), rows, words=2),
            "Whole audits with default settings, from the command to the page, of Gaussian clouds with a "
            "fifth of the labels wrong. Beside the inputs, memory goes with examples × classes: 4 bytes for "
            "each of two networks of every run while these train, and four to five times that when they end. "
            "Of classes × classes there is one table. Where clouds overlap, more is flagged than is wrong: "
            "an unlikely label looks like a wrong one.",
            f"Measured with {content['threads']} threads on {measured_on(content)}." + _shared(content),
            *([OUTDATED] if any(map(_is_outdated, content["rows"])) else []),
        ]
    )


def _is_outdated(row: dict[str, Any]) -> bool:
    """False where the file does not tell what was trained."""
    like = rows_like(row["rows"], row["features"], row["classes"])
    return "runs" in row and is_outdated(row["runs"], like)


def _shared(content: dict[str, Any]) -> str:
    """Where the processors worked for others as well, the time says little."""
    used = sum(row["processor_seconds"] for row in content["rows"])
    alone = used > 0.7 * content["threads"] * sum(row["seconds"] for row in content["rows"])
    return "" if alone else " Other work ran beside it, so that only the processor time counts."


def main() -> None:
    """Measure one problem after the other; the file is written when all are done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    commit, changed = source_state()
    rows = []
    for problem in QUICK if arguments.quick else PROBLEMS:
        rows.append(measure(problem, arguments.threads))
        print(json_text(rows[-1]), flush=True)
    facts = {**circumstances(torch.device("cpu")), "commit": commit, "changed": changed}
    facts["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    if not arguments.quick:
        write_json(arguments.out, {**facts, "threads": arguments.threads, "rows": rows})


if __name__ == "__main__":
    main()
