"""Seconds per run and epoch, measured through `noiselimit.train` on random data of the real shapes."""

import gc
import json
import os
import subprocess
import sys
import tempfile
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
from benchmarks.results import ROOT, SCHEMA, SPEED, Content, check_target, environment, now, print_results
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.mnist import digits
from noiselimit.engine.backend import fast_precision, find_backend, find_device
from noiselimit.engine.preparation import prepare
from noiselimit.errors import InputError, Notice, unknown
from noiselimit.files import write_json
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
CIFAR_LIMIT = Workload("cifar10", "resnet-34", "limit-l", augmentation="flip-crop")
CIFAR_CE = Workload("cifar10", "resnet-34", "ce", augmentation="flip-crop")
DIGITS_LIMIT = Workload("digits", "small-cnn", "limit-l", batch_size=64)
DIGITS_CE = Workload("digits", "small-cnn", "ce", batch_size=64)


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
TARGETS = {
    "mnist-cohort": (2.6, 0.012),
    "mnist-one": (2.6, 0.08),
    "cifar-limit": (8.8, 2.6),
    "cifar-ce": (None, 1.4),
    "set-up-cold": (None, 20.0),
    "set-up-warm": (None, 20.0),
    "digits-cohort": (None, 0.7),
    "digits-step": (None, 2.3),
}
"""Row → seconds of the author's code on an H200, and what the row should be at most: seconds on an H200, or a
ratio on two CPU cores."""


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


@dataclass(frozen=True)
class Timing:
    """What one training of K runs took."""

    entry: Entry
    """The row or point of the results file."""
    counted: list[float]
    """Seconds of the cohort's epochs after warm-up."""
    whole_seconds: float
    """From the call of `train` to its return."""


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
        """What sweeps and set-up train on this device."""
        return MNIST if self.device.type == "cuda" else DIGITS_LIMIT

    def data(self, name: str) -> DataSet:
        """The data set in the size to measure."""
        sizes = self.sizes.examples
        return random_data(name, sizes.get(name, 0), sizes["test"])

    def time(
        self,
        work: Workload,
        runs: int,
        *,
        train_size: int | None = None,
        warm_up: int | None = None,
        first: int = 0,
        threads: int | None = None,
        threads_per_block: int = 1,
        to_the_end: bool = False,
    ) -> Timing:
        """Train `runs` runs and note when each of their epochs ends.

        Unless training goes `to_the_end`, it stops after the last epoch, before the final scoring.
        """
        data = self.data(work.data)
        warm_up = self.sizes.warm_up if warm_up is None else warm_up
        epochs = warm_up + self.sizes.epochs[work.data]
        if work.data == "digits":
            train_size = train_size or self.sizes.digits_train
        specs = work.specs(runs, epochs, train_size=train_size, first=first, precision=self.precision)
        ends: dict[str, list[float]] = {}

        def progress(news: Progress) -> None:
            if news.record is not None:
                ends.setdefault(news.spec.hash, []).append(time.perf_counter())
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
                progress=progress,
            )
            for run in trained:
                if run.failed:
                    raise RuntimeError(f"a run failed: {run.metrics['failure']}")
        whole = time.perf_counter() - started
        seconds, parts = epoch_seconds(started, ends)
        split = prepare(bind(specs[0], data), data).split
        evaluated = len(split.validation) + (len(split.test) if data.test is None else len(data.test))
        facts = {
            "repeats": epochs - warm_up,
            "warm_up": warm_up,
            "parts": parts,
            "epoch_seconds": seconds,
            "median_epoch_seconds": median(seconds[warm_up:]),
            **peak_memory(self.device),
            "notices": sorted({str(each.message) for each in caught}),
        }
        each = median(seconds[warm_up:]) / runs
        entry = {**self.throughput(work, each, runs, len(split.train), evaluated), **facts}
        return Timing(entry, seconds[warm_up:], whole)

    def throughput(self, work: Workload, seconds: float, runs: int, n: int, evaluated: int) -> Entry:
        """Seconds per run and epoch, and the rates that the counted operations and bytes come to."""
        cost = epoch_cost(
            network_cost(work.network, SHAPES[work.data], CLASSES),
            2 if get_method(work.method).needs_predictor else 1,
            pixels=int(np.prod(SHAPES[work.data])),
            batch_size=work.batch_size,
            train_examples=n,
            evaluated_examples=evaluated,
            precision=self.computed_in,
        )
        return {
            **rates(seconds, cost.operations, cost.bytes),
            "operations": cost.operations,
            "bytes": cost.bytes,
            "k": runs,
            "n": n,
            "batch": work.batch_size,
            "network": work.network,
            "method": work.method,
        }


def rates(seconds: float, operations: float, bytes_: float) -> Entry:
    """What a run and epoch in so many seconds comes to."""
    return {
        "seconds": seconds,
        "run_epochs_per_second": 1 / seconds,
        "tflop_per_s": operations / seconds / 1e12,
        "gb_per_s": bytes_ / seconds / 1e9,
    }


def epoch_seconds(started: float, ends: Mapping[str, Sequence[float]]) -> tuple[list[float], int]:
    """Seconds of every epoch of the whole cohort, and in how many parts it trained.

    An epoch ends when its last row reports. A cohort too large for the memory trains in parts, one after
    another: a row whose first epoch ends after others have ended their last belongs to a later part.
    """
    parts: list[list[Sequence[float]]] = []
    for row in sorted(ends.values(), key=lambda row: row[0]):
        if parts and row[0] < max(other[-1] for other in parts[-1]):
            parts[-1].append(row)
        else:
            parts.append([row])
    total = [0.0] * len(parts[0][0])
    for part in parts:
        for epoch, rows in enumerate(zip(*part, strict=True)):
            total[epoch] += max(rows) - started
            started = max(rows)
    return total, len(parts)


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


def time_one(work: Workload, name: str, bench: Bench) -> list[Entry]:
    """One run."""
    return [{"row": name, **bench.time(work, 1).entry}]


def time_mnist_cohort(bench: Bench) -> list[Entry]:
    """The best K; all of them are listed under `tried`. A K that fails does not count."""
    tried: list[Entry] = []
    failures: list[str] = []
    for runs in bench.sizes.cohorts:
        try:
            tried.append(bench.time(MNIST, runs).entry)
        except RuntimeError as error:
            failures.append(f"K = {runs}: {error}")
    if not tried:
        raise RuntimeError("; ".join(failures))
    best = min(tried, key=lambda entry: entry["seconds"])
    return [{"row": "mnist-cohort", **best, "tried": tried, "failures": failures}]


def alternate(ways: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[Any]]:
    """Results of every way, in turn so that a disturbance meets all of them; the first round warms up."""
    results: dict[str, list[Any]] = {name: [] for name in ways}
    for turn in range(1 + repeats):
        names = list(ways)
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            result = ways[name]()
            if turn:
                results[name].append(result)
    return results


def time_digits_cohort(bench: Bench) -> list[Entry]:
    """A cohort of eight over the same eight one after another, from call to return.

    The eight may use one thread or all threads for their block; the better way counts.
    """
    runs, epochs = 8, bench.sizes.epochs["digits"]
    timed = partial(bench.time, DIGITS_LIMIT, warm_up=0, to_the_end=True)

    def one_by_one(threads: int) -> float:
        return sum(timed(1, first=run, threads_per_block=threads).whole_seconds for run in range(runs))

    cohorts: list[Timing] = []

    def cohort() -> float:
        cohorts.append(timed(runs))
        return cohorts[-1].whole_seconds

    ways = {"cohort": cohort, "one after another, one thread each": lambda: one_by_one(1)}
    if bench.threads > 1:
        ways["one after another, all threads in one block"] = lambda: one_by_one(bench.threads)
    seconds = alternate(ways, bench.sizes.repeats)
    medians = {name: median(values) for name, values in seconds.items()}
    together = medians.pop("cohort")
    ratio = together / min(medians.values())
    return [
        _ratio_row(
            "digits-cohort", cohorts[-1].entry, ratio, together / runs / epochs, seconds, bench.threads
        )
    ]


def time_digits_step(bench: Bench) -> list[Entry]:
    """An epoch of LIMIT over an epoch of cross-entropy, one run and one thread."""
    ways = {
        "limit": lambda: bench.time(DIGITS_LIMIT, 1, threads=1, to_the_end=True),
        "ce": lambda: bench.time(DIGITS_CE, 1, threads=1, to_the_end=True),
    }
    timings: dict[str, list[Timing]] = alternate(ways, bench.sizes.repeats)
    seconds = {name: [s for each in found for s in each.counted] for name, found in timings.items()}
    limit, ce = median(seconds["limit"]), median(seconds["ce"])
    return [_ratio_row("digits-step", timings["limit"][-1].entry, limit / ce, limit, seconds, 1)]


def _ratio_row(
    name: str, entry: Entry, ratio: float, each: float, seconds: dict[str, list[float]], threads: int
) -> Entry:
    return {
        "row": name,
        **entry,
        **rates(each, entry["operations"], entry["bytes"]),
        "ratio": ratio,
        "repeats": len(next(iter(seconds.values()))),
        "threads": threads,
        "seconds_of": seconds,
        "medians_of": {way: median(values) for way, values in seconds.items()},
    }


def time_set_up(bench: Bench) -> list[Entry]:
    """From the start of a process until its training runs: the end of the first epoch, less an epoch.

    A new process twice: with empty caches of compiled kernels, then with those that it left.
    """
    reset_memory(bench.device)  # the other process may need it
    entries = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        caches = {name: str(Path(folder, name)) for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")}
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        job: dict[str, Any] = {"work": bench.small.data, "examples": bench.sizes.examples}
        job |= {"device": str(bench.device), "precision": bench.precision}
        job |= {"kernels": bench.kernels, "graphs": bench.graphs}
        child = "import sys; from benchmarks.speed import run_set_up; run_set_up(sys.argv[1])"
        for state in ("cold", "warm"):
            started = time.perf_counter()
            with subprocess.Popen(
                [sys.executable, "-c", child, json.dumps(job)],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **caches, "PYTHONPATH": path},
            ) as process:
                assert process.stdout is not None
                lines = [(time.perf_counter() - started, line.strip()) for line in process.stdout]
            if process.returncode:
                raise RuntimeError(f"the process for set-up ended with {process.returncode}")
            ends = [seconds for seconds, line in lines if line == "epoch"]
            entries.append(
                {
                    "row": f"set-up-{state}",
                    "set_up_seconds": ends[0] - median(after - before for before, after in pairwise(ends)),
                    "epoch_ends": ends,
                    "k": 1,
                    "batch": bench.small.batch_size,
                    "network": bench.small.network,
                    "method": bench.small.method,
                    "repeats": 1,
                    **json.loads(lines[-1][1]),
                }
            )
    return entries


def run_set_up(text: str) -> None:
    """The process whose set-up is timed: prints 'epoch' after every epoch, and its last line is JSON."""
    job = json.loads(text)
    work = MNIST if job["work"] == "mnist" else DIGITS_LIMIT
    data = random_data(work.data, job["examples"].get(work.data, 0), job["examples"]["test"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Notice)
        (run,) = train(
            work.specs(1, 3, precision=job["precision"]),
            data,
            device=job["device"],
            kernels=job["kernels"],
            graphs=job["graphs"],
            progress=lambda news: None if news.record is None else print("epoch", flush=True),
        )
    print(json.dumps({"n": run.metrics["train_examples"], "notices": [str(each.message) for each in caught]}))


ROWS: dict[str, Callable[[Bench], list[Entry]]] = {
    "mnist-cohort": time_mnist_cohort,
    "mnist-one": partial(time_one, MNIST, "mnist-one"),
    "cifar-limit": partial(time_one, CIFAR_LIMIT, "cifar-limit"),
    "cifar-ce": partial(time_one, CIFAR_CE, "cifar-ce"),
    "digits-cohort": time_digits_cohort,
    "digits-step": time_digits_step,
    "set-up": time_set_up,
}
USUAL_ROWS = {
    "cuda": ["mnist-cohort", "mnist-one", "cifar-limit", "cifar-ce", "set-up"],
    "cpu": ["digits-cohort", "digits-step", "set-up"],
}


def time_point(sweep: str, runs: int, train_size: int | None, bench: Bench) -> list[Entry]:
    """A point of a sweep over K or n."""
    return [{"sweep": sweep, **bench.time(bench.small, runs, train_size=train_size).entry}]


def plan(rows: Sequence[str], sweep: str | None, bench: Bench) -> list[tuple[Entry, Any]]:
    """What names each measurement, and the function that makes it."""
    stages: list[tuple[Entry, Any]] = [({"row": name}, ROWS[name]) for name in rows]
    points: list[tuple[str, int, int | None]] = []
    if sweep in ("k", "all"):
        points += [("k", runs, None) for runs in bench.sizes.sweep_k]
    if sweep in ("n", "all"):
        points += [("n", runs, n) for runs in (1, max(bench.sizes.cohorts)) for n in bench.sizes.sweep_n]
    for name, runs, n in points:
        stages.append(({"sweep": name, "k": runs, "n": n}, partial(time_point, name, runs, n)))
    return stages


def measure(
    bench: Bench,
    rows: Sequence[str],
    sweep: str | None,
    out: Path,
    *,
    quick: bool,
    log: Callable[[str], None],
) -> Content:
    """Measure everything asked for. The file is rewritten after every measurement.

    A measurement that fails becomes an entry with `failure`, and the others go on.
    """
    content: Content = {"kind": SPEED, "schema": SCHEMA, "date": now(), **environment(bench.device)}
    content |= {"device_type": bench.device.type, "threads": bench.threads, "quick": quick}
    content |= {"precision": bench.computed_in, "kernels": bench.kernels, "graphs": bench.graphs}
    content |= {"finished": False, "ceilings": None, "rows": [], "points": []}
    log("ceilings")
    content["ceilings"] = measure_ceilings(bench.device, bench.threads, quick=quick)
    for name, stage in plan(rows, sweep, bench):
        log(", ".join(f"{key} {value}" for key, value in name.items() if value is not None))
        try:
            entries = stage(bench)
        except (
            RuntimeError
        ) as error:  # out of memory, a kernel that does not compile, a loss that is not finite
            entries = [{**name, "failure": str(error).strip().split("\n")[0], "notices": []}]
        for entry in entries:
            if "tflop_per_s" in entry and not (quick and bench.device.type == "cpu"):
                entry["share_of_tflop"] = entry["tflop_per_s"] / content["ceilings"]["tflop_per_s"]
                entry["share_of_gb"] = entry["gb_per_s"] / content["ceilings"]["gb_per_s"]
            if "row" in entry and "failure" not in entry:
                meant_for = "cpu" if entry["row"].startswith("digits") else "cuda"
                known = not quick and bench.device.type == meant_for
                entry["author"], entry["aim"] = TARGETS[entry["row"]] if known else (None, None)
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
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
    if not chosen and sweep is None:
        raise InputError("there is nothing to measure: name a row or add --sweep.")
    check_target(out, SPEED, quick=quick)
    bench = Bench(where, SIZES[where.type, quick], available_cores(), precision, kernels, graphs)
    started = time.monotonic()

    def log(text: str) -> None:
        if not quiet:
            print(f"speed: {text} ({time.monotonic() - started:.0f} s)", file=sys.stderr, flush=True)

    content = measure(bench, chosen, sweep, out, quick=quick, log=log)
    if as_json:
        print(json.dumps(content, indent=2))
    else:
        print_results(content)
        print(f"Results are in {out}")
    if any("failure" in entry for entry in [*content["rows"], *content["points"]]):
        raise typer.Exit(1)
