"""Seconds and memory of a whole audit of many rows, of many classes, and of a messy table."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from sklearn.metrics import roc_auc_score

from benchmarks.results import RESULTS, environment
from noiselimit.files import write_json
from noiselimit.machine import available_cores

WRONG = 0.2


@dataclass(frozen=True)
class Clouds:
    """Gaussian clouds, a fifth of whose labels are wrong."""

    rows: int
    features: int
    classes: int
    spread: float
    """Standard deviation of the clouds' centres, each cloud having 1."""
    ending: str


@dataclass(frozen=True)
class Messy:
    """Identifiers, dates, missing cells, words among numbers and many cities; 5 % of the labels are wrong."""

    rows: int
    cities: int
    ending: str = ".csv"


FULL = (  # by memory, because the system reports the highest peak of all audits so far
    Messy(100_000, 10_000),
    Clouds(1_000_000, 50, 10, 0.5, ".parquet"),
    Clouds(100_000, 50, 1000, 1.0, ".npz"),
)
QUICK = (Clouds(2_000, 5, 3, 0.5, ".parquet"),)


def make_messy(messy: Messy) -> tuple[pd.DataFrame, np.ndarray[Any, np.dtype[np.bool_]]]:
    """(the table, which of its labels are wrong [rows])."""
    generator, rows = np.random.default_rng(0), messy.rows
    levels = np.array(["bronze", "silver", "gold", "platinum"])
    right = generator.integers(0, len(levels), rows)

    def some(share: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return generator.random(rows) < share

    def dates(first: str, seconds: Any) -> "pd.Series[Any]":
        return pd.Series(pd.Timestamp(first) + pd.to_timedelta(seconds, "s"))

    frame = pd.DataFrame({"customer": [generator.bytes(8).hex() for _ in range(rows)]})
    frame["order"] = np.arange(rows) + 100_000
    centres = generator.normal(size=(len(levels), 12))
    for place in range(12):
        values = pd.Series(generator.normal(size=rows) + centres[right, place]).round(4)
        frame[f"x{place}"] = values.mask(some(0.3)) if place % 3 == 0 else values
    frame["signup"] = dates("2019-01-01", 86_400 * (generator.integers(0, 700, rows) + 60 * right))
    frame["seen"] = dates("2021-01-01", generator.integers(0, 365 * 86_400, rows)).mask(some(0.3))
    syllables = generator.choice(
        [first + second for first in "bdklmnrst" for second in "aeiou"], (messy.cities, 4)
    )
    cities = np.array(["".join(parts).title() for parts in syllables])
    size = (messy.cities * generator.random(rows) ** 3).astype(int)  # few large cities and many small ones
    frame["city"] = cities[(size - size % len(levels) + right) % messy.cities]
    frame["member"] = some(0.3) & (right > 0)
    frame["country"] = "NL"
    income = (10 * generator.normal(size=rows) + 5 * right).round(2).astype(str)
    frame["income"] = pd.Series(income, dtype=object).mask(some(0.03), "unknown").mask(some(0.2))
    wrong = some(0.05)
    frame["label"] = levels[(right + wrong * generator.integers(1, len(levels), rows)) % len(levels)]
    return frame, wrong


def make_file(clouds: Clouds | Messy, path: Path) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Write the data; [rows] which labels are wrong, which is not in the file."""
    if isinstance(clouds, Messy):
        frame, messed = make_messy(clouds)
        frame.to_csv(path, index=False)
        return messed
    generator = np.random.default_rng(0)
    right = generator.integers(0, clouds.classes, clouds.rows)
    centres = generator.normal(size=(clouds.classes, clouds.features)) * clouds.spread
    inputs = generator.standard_normal((clouds.rows, clouds.features), dtype=np.float32)
    inputs += centres.astype(np.float32)[right]
    wrong = generator.random(clouds.rows) < WRONG
    shift = generator.integers(1, clouds.classes, clouds.rows)
    given = np.where(wrong, (right + shift) % clouds.classes, right)
    if path.suffix == ".npz":
        np.savez(path, X=inputs, y=given)
    else:
        frame = pd.DataFrame(inputs, columns=[f"x{number}" for number in range(clouds.features)])
        frame.assign(label=given).to_parquet(path)
    return np.asarray(wrong)


def measure(clouds: Clouds | Messy, threads: int) -> dict[str, Any]:
    """One audit with its defaults, in a process whose time and peak memory the system reports."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, f"data{clouds.ending}"), Path(folder, "audit")
        wrong = make_file(clouds, data)
        options = ["--out", str(out), "--device", "cpu", "--threads", str(threads), "--quiet"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "noiselimit", "audit", str(data), *options],
            stdout=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=True,
        )
        seconds = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        table = pd.read_parquet(out / "label_issues.parquet")
        flagged = table["is_label_issue"].to_numpy(bool)
        return {
            **asdict(clouds),
            "seconds": round(seconds, 1),
            "processor_seconds": round(used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, 1),
            "peak_memory_mib": round(used.ru_maxrss / 1024, 1),  # the highest of all audits so far
            "wrong": float(wrong.mean()),
            "flagged": float(flagged.mean()),
            "auroc": float(roc_auc_score(wrong, table["gap"])),
        }


def main(
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON file to write.")] = RESULTS
    / "audit-scale.json",
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="CPU threads. Default: all cores.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use small sizes, only to see that it works.")
    ] = False,
) -> None:
    """Measure time and memory of large audits.

    One has a million rows, one a thousand classes, one is of a messy table. They run on the CPU.
    """
    threads = threads or available_cores()
    rows = [measure(clouds, threads) for clouds in (QUICK if quick else FULL)]
    write_json(out, {**environment(torch.device("cpu")), "threads": threads, "rows": rows})
    print(pd.DataFrame(rows).to_string(index=False))
