"""A sweep of runs over Ray workers of this machine: its time, its overhead, and that the bits stay."""

import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import torch
import typer

from benchmarks.results import RESULTS, Quick, environment
from noiselimit.data.mnist import digits
from noiselimit.files import write_json
from noiselimit.integrations.clusters import Ray
from noiselimit.integrations.tasks import load_extra, split
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import train

WORKERS = 2
WAYS = {"without Ray": 0, "one worker": 1, "two workers": 2, "16 tasks": 16}
"""Way → number of tasks, each with one CPU."""


def contents(run: Run) -> dict[str, bytes]:
    """The files of a run, but for its metrics, which hold times and the size of the cohort."""
    assert run.path is not None
    return {path.name: path.read_bytes() for path in run.path.iterdir() if path.name != "metrics.json"}


def sweep(specs: list[RunSpec], tasks: int, folder: Path) -> tuple[float, list[Run]]:
    """Train the runs on one thread, or as this many tasks; the seconds and the runs."""
    started = time.perf_counter()
    engine = Ray(tasks=tasks) if tasks else None
    runs = train(specs, digits(), out=folder, device="cpu", threads=1, engine=engine)
    return time.perf_counter() - started, runs


def training_seconds(runs: list[Run], tasks: int) -> float:
    """What the cohorts of all tasks took together, by their own clocks."""
    seconds = {run.spec.hash: float(run.metrics["cohort_seconds"]) for run in runs}
    return sum(
        max(seconds[spec.hash] for spec in part) for part in split([[run.spec for run in runs]], tasks)
    )


def main(
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON file to write.")] = RESULTS
    / "clusters.json",
    repeats: Annotated[int, typer.Option(metavar="N", help="Number of repeats.", min=1)] = 2,
    quick: Quick = False,
) -> None:
    """Train 64 runs on digits without Ray and over one and two of its workers, on this machine."""
    specs = grid(
        method="limit-l",
        beta=[1, 3, 10, 30],
        seed=range(16),
        noise="uniform:0.4",
        network="mlp",
        epochs=2 if quick else 8,
        batch_size=64,
    )
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    ray = load_extra("ray", "ray")
    started = time.perf_counter()
    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    rows: list[dict[str, Any]] = []
    overheads: list[float] = []
    found: list[dict[str, dict[str, bytes]]] = []
    with tempfile.TemporaryDirectory() as folder:
        sweep(specs[:4], WORKERS, Path(folder, "start"))  # the workers import torch
        start = time.perf_counter() - started
        for repeat in range(repeats):
            for way, tasks in WAYS.items():
                seconds, runs = sweep(specs, tasks, Path(folder, f"{way} {repeat}"))
                rows.append({"way": way, "seconds": seconds, "load": os.getloadavg()[0]})
                found.append({run.spec.hash: contents(run) for run in runs})
                print(f"{way}: {seconds:.1f} s, load {rows[-1]['load']:.1f}", flush=True)
            overheads.append((WORKERS * seconds - training_seconds(runs, tasks)) / tasks)
    ray.shutdown()
    medians = {way: median(row["seconds"] for row in rows if row["way"] == way) for way in WAYS}
    facts = {
        "runs": len(specs),
        "seconds": medians,
        "ratio": medians["two workers"] / medians["one worker"],
        "overhead_per_task": median(overheads),
        "start_seconds": start,
        "identical": all(each == found[0] for each in found),
        "quick": quick,
        "ray": ray.__version__,
        "rows": rows,
    }
    print({name: value for name, value in facts.items() if name != "rows"})
    write_json(out, {**environment(torch.device("cpu")), **facts})
