"""Seconds per run and epoch, measured through `noiselimit.train` on random data of the real shapes."""

import gc
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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
from benchmarks.results import SCHEMA, SPEED, Content, environment, print_results, read_results
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.mnist import digits
from noiselimit.engine.backend import fast_precision, find_backend, find_device
from noiselimit.engine.preparation import prepare
from noiselimit.errors import InputError, Notice, unknown
from noiselimit.files import make_folder, write_json
from noiselimit.machine import available_cores
from noiselimit.methods import get_method
from noiselimit.runs.binding import bind
from noiselimit.runs.spec import RunSpec
from noiselimit.training import Progress, train

CLASSES, SEEDS, NOISE = 10, 4, "uniform:0.4"
SHAPES = {"mnist": (1, 28, 28), "cifar10": (3, 32, 32), "digits": (1, 8, 8)}
Entry = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    """A kind of run: a data set's shape, a network, a method and a batch size."""

    data: str
    network: str
    method: str
    batch_size: int = 256
    augmentation: str = "none"

    def specs(
        self,
        runs: int,
        epochs: int,
        *,
        train_size: int | None = None,
        first: int = 0,
        precision: str = "auto",
    ) -> list[RunSpec]:
        """Runs that differ in seed and β, a grid of few seeds. Patience never ends one early."""
        hyper = get_method(self.method).hyper
        seeds = SEEDS if "beta" in hyper else first + runs
        return [
            RunSpec(
                method=self.method,
                hyper={"beta": hyper["beta"] + run // seeds} if "beta" in hyper else {},
                seed=run % seeds,
                noise=NOISE,  # type: ignore[arg-type]  # a RunSpec also takes text
                network=self.network,
                epochs=epochs,
                patience=epochs,
                batch_size=self.batch_size,
                precision=precision,
                augmentation=self.augmentation,
                train_size=train_size,
            )
            for run in range(first, first + runs)
        ]


MNIST = Workload("mnist", "mnist-cnn", "limit-l")
DIGITS = Workload("digits", "small-cnn", "limit-l", batch_size=64)
DIGITS_CE = Workload("digits", "small-cnn", "ce", batch_size=64)
ALONE = {
    "mnist-one": MNIST,
    "cifar-limit": Workload("cifar10", "resnet-34", "limit-l", augmentation="flip-crop"),
    "cifar-ce": Workload("cifar10", "resnet-34", "ce", augmentation="flip-crop"),
}
"""Rows of one run each."""
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
    """Examples of a data set, a fifth of which validate, and of each test part."""
    epochs: dict[str, int]
    """Epochs that count, after `warm_up` epochs that compile, capture graphs and fill caches."""
    cohorts: tuple[int, ...]
    """Values of K for `mnist-cohort`, whose best counts."""
    sweep_k: tuple[int, ...]
    sweep_n: tuple[int, ...]
    warm_up: int = 2
    repeats: int = 5
    """Of each side of a ratio."""
    digits_train: int | None = None


FULL = {"mnist": 60_000, "cifar10": 50_000, "test": 10_000}
FULL_EPOCHS = {"mnist": 5, "cifar10": 4, "digits": 6}
SWEEP_K, SWEEP_N = (1, 2, 4, 8, 16, 32, 64, 128, 256), (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 48_000)
QUICK = {"mnist": 6_400, "cifar10": 3_200, "test": 1_000}
TINY = {"mnist": 640, "cifar10": 40, "test": 20}
TINY_EPOCHS = {"mnist": 2, "cifar10": 1, "digits": 2}
SIZES = {
    ("cuda", False): Sizes(FULL, FULL_EPOCHS, (64, 128, 256), SWEEP_K, SWEEP_N),
    ("cuda", True): Sizes(QUICK, {"mnist": 3, "cifar10": 2}, (8, 32), (1, 4, 16), (1_000, 4_000), 1, 2),
    ("cpu", False): Sizes(FULL, FULL_EPOCHS, (2, 8), (1, 2, 4, 8), (128, 256, 512, 1_024)),
    ("cpu", True): Sizes(TINY, TINY_EPOCHS, (1, 2), (1, 2), (64, 128), 1, 2, digits_train=256),
}
"""(device type, --quick) → sizes."""


@cache
def random_data(name: str, examples: int, test_examples: int) -> DataSet:
    """Random pictures in the shape of a data set, with a test part; digits are the real ones."""
    if name == "digits":
        return digits()
    generator = np.random.default_rng(0)
    train_part, test_part = (
        make_examples(
            generator.integers(0, 256, (count, *SHAPES[name]), np.uint8),
            np.r_[np.arange(CLASSES), generator.integers(0, CLASSES, count - CLASSES)],  # every class occurs
        )
        for count in (examples, test_examples)
    )
    return DataSet(f"random {name}", train_part, test=test_part)


class _Done(Exception):  # noqa: N818  # ends a training whose epochs have all been seen
    pass


@dataclass(frozen=True)
class Bench:
    """What all measurements of one call share."""

    device: torch.device
    sizes: Sizes
    threads: int
    precision: str = "auto"
    kernels: str = "auto"
    graphs: str = "auto"

    @property
    def computed_in(self) -> str:
        """The precision of activations."""
        return fast_precision(self.device) if self.precision == "auto" else self.precision

    @property
    def small(self) -> Workload:
        """What sweeps train on this device."""
        return MNIST if self.device.type == "cuda" else DIGITS

    def data(self, name: str) -> DataSet:
        """The data set in the size to measure."""
        return random_data(name, self.sizes.examples.get(name, 0), self.sizes.examples["test"])

    def train(
        self,
        work: Workload,
        runs: int,
        *,
        warm_up: int | None = None,
        train_size: int | None = None,
        first: int = 0,
        threads: int | None = None,
        threads_per_block: int = 1,
        to_the_end: bool = False,
    ) -> tuple[Entry, float]:
        """Train `runs` runs. Returns an entry of the results file, and the seconds of the whole call.

        Unless training goes `to_the_end`, it stops after the last epoch, before the final scoring.
        """
        data, warm_up = self.data(work.data), self.sizes.warm_up if warm_up is None else warm_up
        epochs = warm_up + self.sizes.epochs[work.data]
        if work.data == "digits":
            train_size = train_size or self.sizes.digits_train
        specs = work.specs(runs, epochs, train_size=train_size, first=first, precision=self.precision)
        ends: dict[str, list[float]] = {}

        def on_progress(progress: Progress) -> None:
            if progress.record is not None:
                ends.setdefault(progress.spec.hash, []).append(time.perf_counter())
            if not to_the_end and sum(map(len, ends.values())) == runs * epochs:
                raise _Done

        reset_memory(self.device)
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught, suppress(_Done):
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
            for run in trained:
                if run.failed:
                    raise RuntimeError(f"a run failed: {run.metrics['failure']}")
        whole = time.perf_counter() - started
        seconds = epoch_seconds(started, ends)
        split = prepare(bind(specs[0], data), data).split
        evaluated = len(split.validation) + (len(split.test) if data.test is None else len(data.test))
        each = median(seconds[warm_up:]) / runs
        facts = {"repeats": epochs - warm_up, "warm_up": warm_up, "epoch_seconds": seconds}
        memory = {**peak_memory(self.device), "notices": sorted({str(each.message) for each in caught})}
        return {**self.rates(work, each, runs, len(split.train), evaluated), **facts, **memory}, whole

    def rates(self, work: Workload, seconds: float, runs: int, n: int, evaluated: int) -> Entry:
        """Seconds per run and epoch, and the rates that the counted operations and bytes come to."""
        operations, bytes_ = epoch_cost(
            network_cost(work.network, SHAPES[work.data], CLASSES),
            2 if get_method(work.method).needs_predictor else 1,
            pixels=int(np.prod(SHAPES[work.data])),
            batch_size=work.batch_size,
            train_examples=n,
            evaluated_examples=evaluated,
            precision=self.computed_in,
        )
        return {
            "seconds": seconds,
            "tflop_per_s": operations / seconds / 1e12,
            "gb_per_s": bytes_ / seconds / 1e9,
            "operations": operations,
            "bytes": bytes_,
            "k": runs,
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


def peak_memory(device: torch.device) -> dict[str, int | None]:
    """Bytes allocated and reserved at most since the last reset; None on a CPU."""
    if device.type == "cpu":
        return {"peak_memory": None, "peak_reserved": None}
    return {
        "peak_memory": torch.cuda.max_memory_allocated(device),
        "peak_reserved": torch.cuda.max_memory_reserved(device),
    }


def time_one(name: str, bench: Bench) -> list[Entry]:
    """One run."""
    return [{"row": name, **bench.train(ALONE[name], 1)[0]}]


def time_mnist_cohort(bench: Bench) -> list[Entry]:
    """The best K; all of them are listed under `tried`."""
    tried = [bench.train(MNIST, runs)[0] for runs in bench.sizes.cohorts]
    return [{"row": "mnist-cohort", **min(tried, key=lambda entry: entry["seconds"]), "tried": tried}]


Way = Callable[[], tuple[Entry, float]]
"""Trains, and returns an entry and seconds."""


def compare_ways(name: str, ways: Mapping[str, Way], repeats: int, threads: int) -> list[Entry]:
    """Seconds of the first way over those of the best other, by medians.

    The ways take turns, so that a disturbance affects all of them; the first round warms up.
    """
    found: dict[str, list[tuple[Entry, float]]] = {way: [] for way in ways}
    for turn in range(1 + repeats):
        for way, train_once in ways.items():
            result = train_once()
            if turn:
                found[way].append(result)
    seconds = {way: [each for _, each in results] for way, results in found.items()}
    medians = {way: median(values) for way, values in seconds.items()}
    first, *others = ways
    ratio = medians[first] / min(medians[way] for way in others)
    facts = {"ratio": ratio, "threads": threads, "medians_of": medians, "seconds_of": seconds}
    return [{"row": name, **found[first][-1][0], **facts}]


def time_digits_cohort(bench: Bench) -> list[Entry]:
    """A cohort of eight over the same eight one after another, from call to return.

    One after another, each may use one thread or all threads; the better way counts.
    """
    timed = partial(bench.train, DIGITS, warm_up=0, to_the_end=True)

    def one_by_one(threads: int) -> tuple[Entry, float]:
        runs = [timed(1, first=run, threads_per_block=threads) for run in range(8)]
        return runs[0][0], sum(seconds for _, seconds in runs)

    ways: dict[str, Way] = {
        "cohort": lambda: timed(8),
        "one after another, one thread each": lambda: one_by_one(1),
        "one after another, all threads in one block": lambda: one_by_one(bench.threads),
    }
    return compare_ways("digits-cohort", ways, bench.sizes.repeats, bench.threads)


def time_digits_step(bench: Bench) -> list[Entry]:
    """An epoch of LIMIT over an epoch of cross-entropy, one run and one thread."""

    def epoch(work: Workload) -> tuple[Entry, float]:
        entry, _ = bench.train(work, 1, threads=1, to_the_end=True)
        return entry, entry["seconds"]

    ways = {"limit": lambda: epoch(DIGITS), "ce": lambda: epoch(DIGITS_CE)}
    return compare_ways("digits-step", ways, bench.sizes.repeats, 1)


ROWS: dict[str, Callable[[Bench], list[Entry]]] = {
    "mnist-cohort": time_mnist_cohort,
    **{name: partial(time_one, name) for name in ALONE},
    "digits-cohort": time_digits_cohort,
    "digits-step": time_digits_step,
}
USUAL_ROWS = {
    "cuda": ["mnist-cohort", "mnist-one", "cifar-limit", "cifar-ce"],
    "cpu": ["digits-cohort", "digits-step"],
}


def time_point(sweep: str, runs: int, train_size: int | None, bench: Bench) -> list[Entry]:
    """A point of a sweep over K or n."""
    return [{"sweep": sweep, **bench.train(bench.small, runs, train_size=train_size)[0]}]


def stages(rows: Sequence[str], sweep: str | None, bench: Bench) -> list[tuple[Entry, Any]]:
    """What names each measurement, and the function that makes it."""
    found: list[tuple[Entry, Any]] = [({"row": name}, ROWS[name]) for name in rows]
    points: list[tuple[str, int, int | None]] = []
    if sweep in ("k", "all"):
        points += [("k", runs, None) for runs in bench.sizes.sweep_k]
    if sweep in ("n", "all"):
        points += [("n", runs, n) for runs in (1, max(bench.sizes.cohorts)) for n in bench.sizes.sweep_n]
    for name, runs, n in points:
        found.append(({"sweep": name, "k": runs, "n": n}, partial(time_point, name, runs, n)))
    return found


def measure(bench: Bench, rows: Sequence[str], sweep: str | None, out: Path, *, quick: bool) -> Content:
    """Measure everything asked for. The file is rewritten after every measurement.

    A measurement that fails becomes an entry with `failure`, and the others go on.
    """
    content: Content = {"kind": SPEED, "schema": SCHEMA, **environment(bench.device)}
    content |= {"device_type": bench.device.type, "threads": bench.threads, "quick": quick}
    content |= {"precision": bench.computed_in, "kernels": bench.kernels, "graphs": bench.graphs}
    ceilings = measure_ceilings(bench.device, bench.threads, quick=quick)
    content |= {"finished": False, "ceilings": ceilings, "rows": [], "points": []}
    for name, stage in stages(rows, sweep, bench):
        print(f"speed: {name}", file=sys.stderr, flush=True)
        try:
            entries = stage(bench)
        except RuntimeError as error:  # out of memory, a kernel that does not compile, a loss that is NaN
            entries = [{**name, "failure": str(error).strip().split("\n")[0]}]
        for entry in entries:
            if "tflop_per_s" in entry and not (quick and bench.device.type == "cpu"):
                entry["share_of_tflop"] = entry["tflop_per_s"] / ceilings["tflop_per_s"]
                entry["share_of_gb"] = entry["gb_per_s"] / ceilings["gb_per_s"]
            target_device = "cpu" if entry.get("row", "").startswith("digits") else "cuda"
            if entry.get("row") in TARGETS and not quick and bench.device.type == target_device:
                entry["author"], entry["aim"] = TARGETS[entry["row"]]
        content["rows" if "row" in name else "points"] += entries
        write_json(out, content)
    content["finished"] = True
    write_json(out, content)
    return content


def main(
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    rows: Annotated[str | None, typer.Option(help=f"Some of {', '.join(ROWS)}; or none.")] = None,
    sweep: Annotated[str | None, typer.Option(help="Also measure how cost grows: k, n or all.")] = None,
    out: Annotated[Path, typer.Option(help="JSON file to write.")] = Path("bench.json"),
    precision: Annotated[str, typer.Option(help="Of activations: auto, float32 or bfloat16.")] = "auto",
    kernels: Annotated[str, typer.Option(help="Our own GPU kernels: auto, on or off.")] = "auto",
    graphs: Annotated[str, typer.Option(help="CUDA graphs: auto, on or off.")] = "auto",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: shows that it works.")] = False,
) -> None:
    """Measure how fast this machine trains, and how close that is to what its hardware allows."""
    where = find_device(device)
    find_backend(kernels, graphs, where)  # raises if they are not available
    MNIST.specs(1, 1, precision=precision)  # raises if there is no such precision
    chosen = USUAL_ROWS[where.type] if rows is None else [] if rows == "none" else rows.split(",")
    for name in chosen:
        if name not in ROWS:
            raise unknown("row", name, ROWS)
        if name.startswith("digits") and where.type != "cpu":
            raise InputError(f"row '{name}' compares ways to use the cores of a CPU: add --device cpu.")
    if sweep not in (None, "k", "n", "all"):
        raise unknown("sweep", sweep, ["k", "n", "all"])
    if quick and out.exists() and not read_results(out, (SPEED,))["quick"]:
        raise InputError(f"{out} has a full measurement: choose another file with --out.")
    make_folder(out.parent)
    bench = Bench(where, SIZES[where.type, quick], available_cores(), precision, kernels, graphs)
    content = measure(bench, chosen, sweep, out, quick=quick)
    print_results(content)
    if any("failure" in entry for entry in [*content["rows"], *content["points"]]):
        raise typer.Exit(1)
