"""Seconds per run and epoch, measured through `noiselimit.train` on random data of the real shapes."""

import gc
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import torch
import typer

from benchmarks.ceilings import epoch_cost, measure_ceilings, network_cost
from benchmarks.results import SPEED, Content, Device, Quick, environment, print_results, read_results
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.mnist import digits
from noiselimit.engine.backend import fast_precision, find_backend, find_device
from noiselimit.engine.preparation import bind, prepare
from noiselimit.errors import InputError, Notice, unknown
from noiselimit.files import make_folder, write_json
from noiselimit.machine import available_cores
from noiselimit.methods import get_method
from noiselimit.runs.spec import RunSpec
from noiselimit.training import Progress, train

CLASSES, SEEDS, NOISE = 10, 4, "uniform:0.4"
SHAPES = {"mnist": (1, 28, 28), "cifar10": (3, 32, 32), "digits": (1, 8, 8)}
Entry = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    """A kind of run."""

    data: str
    network: str
    method: str
    batch_size: int = 256
    augmentation: str = "none"

    def specs(self, runs: int, **settings: Any) -> list[RunSpec]:
        """Runs that differ in seed and, after the first few, in β."""
        beta = get_method(self.method).hyper.get("beta")
        return [
            RunSpec(
                method=self.method,
                hyper={} if beta is None else {"beta": beta + run // SEEDS},
                seed=run % SEEDS,
                noise=NOISE,  # type: ignore[arg-type]  # a RunSpec also takes text
                network=self.network,
                batch_size=self.batch_size,
                augmentation=self.augmentation,
                **settings,
            )
            for run in range(runs)
        ]


MNIST = Workload("mnist", "mnist-cnn", "limit-l")
DIGITS = Workload("digits", "small-cnn", "limit-l", batch_size=64)
DIGITS_CE = Workload("digits", "small-cnn", "ce", batch_size=64)
CIFAR = Workload("cifar10", "resnet-34", "limit-l", augmentation="flip-crop")
CIFAR_CE = Workload("cifar10", "resnet-34", "ce", augmentation="flip-crop")
TARGETS = {
    "mnist-cohort": (2.6, 0.012),
    "mnist-one": (2.6, 0.08),
    "cifar-limit": (8.8, 2.6),
    "cifar-ce": (None, 1.4),
    "digits-cohort": (None, 0.7),
    "digits-step": (None, 2.3),
}
"""Row → seconds of the author's code on an H200, and the row's target: seconds on an H200, or a ratio on two
CPU cores."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    examples: dict[str, int]
    """Examples of a data set, a fifth of them to validate, and of each test part; real digits if missing."""
    epochs: dict[str, int]
    """Epochs that count, after `warm_up` epochs that compile, capture graphs and fill caches."""
    cohorts: tuple[int, ...]
    """Values of K for `mnist-cohort`, whose best counts."""
    sweep_k: tuple[int, ...]
    sweep_n: tuple[int, ...]
    warm_up: int
    repeats: int
    """Of each side of a ratio."""


FULL = Sizes(
    {"mnist": 60_000, "cifar10": 50_000, "test": 10_000},
    {"mnist": 5, "cifar10": 4, "digits": 6},
    cohorts=(64, 128, 256),
    sweep_k=(1, 2, 4, 8, 16, 32, 64, 128, 256),
    sweep_n=(1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 48_000),
    warm_up=2,
    repeats=5,
)
QUICK = Sizes(
    {"mnist": 6_400, "cifar10": 3_200, "digits": 80, "test": 50},
    {"mnist": 3, "cifar10": 2, "digits": 1},
    cohorts=(8, 32),
    sweep_k=(1, 4, 16),
    sweep_n=(1_000, 4_000),
    warm_up=1,
    repeats=1,
)


@cache
def random_data(name: str, examples: int, test_examples: int) -> DataSet:
    """Random images in the shape of a data set, with a test part."""
    generator = np.random.default_rng(0)
    train_part, test_part = (
        make_examples(
            generator.integers(0, 256, (count, *SHAPES[name]), np.uint8),
            np.r_[np.arange(CLASSES), generator.integers(0, CLASSES, count - CLASSES)],  # every class occurs
        )
        for count in (examples, test_examples)
    )
    return DataSet(f"random {name}", train_part, test=test_part)


@dataclass(frozen=True)
class Bench:
    """What all measurements of one call share."""

    device: torch.device
    sizes: Sizes
    threads: int
    precision: str
    kernels: str
    graphs: str

    def train(
        self,
        work: Workload,
        runs: int,
        *,
        first: int = 0,
        train_size: int | None = None,
        threads: int | None = None,
        threads_per_block: int = 1,
    ) -> Entry:
        """Train the runs from `first` to `runs` as one cohort; an entry of the results file."""
        examples, warm_up = self.sizes.examples, self.sizes.warm_up
        is_real = work.data not in examples
        data = digits() if is_real else random_data(work.data, examples[work.data], examples["test"])
        epochs = warm_up + self.sizes.epochs[work.data]
        settings = {"epochs": epochs, "patience": epochs, "train_size": train_size}
        specs = work.specs(runs, precision=self.precision, **settings)[first:]
        ends: dict[str, list[float]] = {}

        def on_progress(progress: Progress) -> None:
            if progress.record is not None:
                ends.setdefault(progress.spec.hash, []).append(time.perf_counter())

        reset_memory(self.device)
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", Notice)
            trained = train(
                specs,
                data,
                device=self.device,
                threads=threads or self.threads,
                threads_per_block=threads_per_block,
                kernels=self.kernels,
                graphs=self.graphs,
                progress=on_progress,
            )
        whole = time.perf_counter() - started
        for run in trained:
            if run.failed:
                raise RuntimeError(f"a run failed: {run.metrics['failure']}")
        seconds = epoch_seconds(started, ends)
        split = prepare(bind(specs[0], data), data).split
        evaluated = len(split.validation) + (len(split.test) if data.test is None else len(data.test))
        on_gpu = self.device.type == "cuda"
        return {
            **self.rates(work, median(seconds[warm_up:]) / len(specs), len(split.train), evaluated),
            "k": len(specs),
            "warm_up": warm_up,
            "epoch_seconds": seconds,
            "whole_seconds": whole,
            "peak_memory": torch.cuda.max_memory_allocated(self.device) if on_gpu else None,
            "notices": sorted({str(each.message) for each in caught}),
        }

    def rates(self, work: Workload, seconds: float, n: int, evaluated: int) -> Entry:
        """Seconds per run and epoch, and the rates that the counted operations and bytes come to."""
        operations, bytes_ = epoch_cost(
            network_cost(work.network, SHAPES[work.data], CLASSES),
            2 if get_method(work.method).needs_predictor else 1,
            pixels=int(np.prod(SHAPES[work.data])),
            batch_size=work.batch_size,
            train_examples=n,
            evaluated_examples=evaluated,
            precision=self.precision,
        )
        return {
            "seconds": seconds,
            "tflop_per_s": operations / seconds / 1e12,
            "gb_per_s": bytes_ / seconds / 1e9,
            "operations": operations,
            "bytes": bytes_,
            "n": n,
            "batch": work.batch_size,
            "network": work.network,
            "method": work.method,
        }


def epoch_seconds(started: float, ends: Mapping[str, Sequence[float]]) -> list[float]:
    """Seconds of every epoch of a cohort; an epoch ends when its last row reports."""
    if min(row[-1] for row in ends.values()) < max(row[0] for row in ends.values()):
        raise RuntimeError("the cohort did not fit in memory and was trained in parts")
    last = [started, *(max(rows) for rows in zip(*ends.values(), strict=True))]
    return [after - before for before, after in pairwise(last)]


def reset_memory(device: torch.device) -> None:
    """Free what earlier trainings left, so that it does not count for the next peak."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def time_mnist_cohort(bench: Bench) -> Entry:
    """The best K; all of them are listed under `tried`."""
    tried = [bench.train(MNIST, runs) for runs in bench.sizes.cohorts]
    return {**min(tried, key=lambda entry: entry["seconds"]), "tried": tried}


def compare_ways(ways: Mapping[str, Callable[[], float]], repeats: int) -> Entry:
    """Seconds of the first way over those of the best other, by medians.

    The ways take turns, so that a disturbance affects all of them; the first round warms up.
    """
    rounds = [{way: measured() for way, measured in ways.items()} for _ in range(1 + repeats)]
    seconds = {way: [each[way] for each in rounds[1:]] for way in ways}
    first, *others = medians = {way: median(values) for way, values in seconds.items()}
    ratio = medians[first] / min(medians[way] for way in others)
    return {"ratio": ratio, "medians_of": medians, "seconds_of": seconds}


def time_digits_cohort(bench: Bench) -> Entry:
    """A cohort of eight over the same eight one after another, from call to return.

    One after another, each may use one thread or all threads; the better way counts.
    """

    def seconds(first: int, runs: int, threads: int = 1) -> float:
        entry = bench.train(DIGITS, runs, first=first, threads_per_block=threads)
        return float(entry["whole_seconds"])

    def one_by_one(threads: int) -> float:
        return sum(seconds(run, run + 1, threads) for run in range(8))

    ways = {
        "cohort": lambda: seconds(0, 8),
        "one after another, one thread each": lambda: one_by_one(1),
        "one after another, all threads in one block": lambda: one_by_one(bench.threads),
    }
    return {"k": 8, **compare_ways(ways, bench.sizes.repeats)}


def time_digits_step(bench: Bench) -> Entry:
    """An epoch of LIMIT over an epoch of cross-entropy, one run and one thread."""

    def seconds(work: Workload) -> float:
        return float(bench.train(work, 1, threads=1)["seconds"])

    ways = {"limit": lambda: seconds(DIGITS), "ce": lambda: seconds(DIGITS_CE)}
    return {"k": 1, **compare_ways(ways, bench.sizes.repeats)}


ROWS: dict[str, Callable[[Bench], Entry]] = {
    "mnist-cohort": time_mnist_cohort,
    "mnist-one": lambda bench: bench.train(MNIST, 1),
    "cifar-limit": lambda bench: bench.train(CIFAR, 1),
    "cifar-ce": lambda bench: bench.train(CIFAR_CE, 1),
    "digits-cohort": time_digits_cohort,
    "digits-step": time_digits_step,
}


def usual_rows(device: str) -> list[str]:
    """Rows of digits compare ways to use the cores of a CPU; the others are for a GPU."""
    return [name for name in ROWS if name.startswith("digits") == (device == "cpu")]


def measurements(
    rows: Sequence[str], sweep: str | None, bench: Bench
) -> list[tuple[Entry, Callable[[], Entry]]]:
    """What names each measurement, and the function that makes it."""
    found: list[tuple[Entry, Callable[[], Entry]]] = []
    found += [({"row": name}, partial(ROWS[name], bench)) for name in rows]
    points: list[tuple[str, int, int | None]] = []
    if sweep in ("k", "all"):
        points += [("k", runs, None) for runs in bench.sizes.sweep_k]
    if sweep in ("n", "all"):
        points += [("n", runs, n) for runs in (1, max(bench.sizes.cohorts)) for n in bench.sizes.sweep_n]
    for name, runs, n in points:
        found.append(({"sweep": name, "k": runs, "n": n}, partial(bench.train, MNIST, runs, train_size=n)))
    return found


def measure(bench: Bench, rows: Sequence[str], sweep: str | None, out: Path) -> Content:
    """Measure everything asked for. The file is rewritten after every measurement.

    A measurement that fails becomes an entry with `failure`, and the others go on.
    """
    device, quick = bench.device.type, bench.sizes is not FULL
    content: Content = {"kind": SPEED, **environment(bench.device)}
    content |= {"device_type": device, "threads": bench.threads, "quick": quick}
    content |= {"precision": bench.precision, "kernels": bench.kernels, "graphs": bench.graphs}
    ceilings = measure_ceilings(bench.device) if device == "cuda" else None
    content |= {"finished": False, "ceilings": ceilings, "rows": [], "points": []}
    for name, measurement in measurements(rows, sweep, bench):
        print(
            f"speed: {', '.join(f'{key} {value}' for key, value in name.items())}",
            file=sys.stderr,
            flush=True,
        )
        try:
            entry = {**name, **measurement()}
        except RuntimeError as error:  # out of memory, a kernel that does not compile, a loss that is NaN
            entry = {**name, "failure": str(error).strip().split("\n")[0]}
        if ceilings is not None and "tflop_per_s" in entry:
            entry["share_of_tflop"] = entry["tflop_per_s"] / ceilings["tflop_per_s"]
            entry["share_of_gb"] = entry["gb_per_s"] / ceilings["gb_per_s"]
        if entry.get("row") in usual_rows(device) and not quick:
            entry["author"], entry["aim"] = TARGETS[entry["row"]]
        content["rows" if "row" in name else "points"].append(entry)
        write_json(out, content)
    content["finished"] = True
    write_json(out, content)
    return content


def main(
    device: Device = "auto",
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help=f"Rows to measure, of {', '.join(ROWS)}; or none. Default: those for the device.",
        ),
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Also measure how the time grows with runs (k), examples (n) or all."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON file to write.")] = Path("bench.json"),
    precision: Annotated[
        str, typer.Option(metavar="NAME", help="Precision of activations: auto, float32 or bfloat16.")
    ] = "auto",
    kernels: Annotated[
        str, typer.Option(metavar="NAME", help="Use our own GPU kernels: auto, on or off.")
    ] = "auto",
    graphs: Annotated[str, typer.Option(metavar="NAME", help="Use CUDA graphs: auto, on or off.")] = "auto",
    quick: Quick = False,
) -> None:
    """Measure how fast this machine trains.

    On a GPU, also measure how close that is to what the hardware allows.
    """
    where = find_device(device)
    find_backend(kernels, graphs, where)  # raises if they are not available
    MNIST.specs(1, precision=precision)  # raises if there is no such precision
    precision = fast_precision(where) if precision == "auto" else precision
    chosen = usual_rows(where.type) if rows is None else [] if rows == "none" else rows.split(",")
    for name in chosen:
        if name not in ROWS:
            raise unknown("row", name, ROWS)
    if sweep not in (None, "k", "n", "all"):
        raise unknown("sweep", sweep, ["k", "n", "all"])
    if quick and out.exists() and not read_results(out)["quick"]:
        raise InputError(f"{out} has a full measurement: choose another file with --out.")
    make_folder(out.parent)
    bench = Bench(where, QUICK if quick else FULL, available_cores(), precision, kernels, graphs)
    content = measure(bench, chosen, sweep, out)
    print_results(content)
    if any("failure" in entry for entry in [*content["rows"], *content["points"]]):
        raise typer.Exit(1)
