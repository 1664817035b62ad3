"""Measures what docs/performance.md says beside the bench: agreement of the fast path, and what was tried.

    python docs/measure_performance.py precision --data-dir DATA   → results/precision.json (MNIST, GPU)
    … precision --data-dir DATA --device cpu --methods ce --seeds 9 --epochs 3 → results/precision-cpu.json
    python docs/measure_performance.py tried                       → results/tried.json (GPU; with --out FILE
                                                                     goes on where that file ends)
    python docs/measure_performance.py compile                     → results/compile.json (GPU)

`--quick` shrinks everything, to see that it works.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from noiselimit.bench.effort import effort_for
from noiselimit.bench.provenance import source_state
from noiselimit.bench.session import Session
from noiselimit.bench.work import CIFAR_CE, CIFAR_LIMIT, MNIST, Work
from noiselimit.cohort.device import find_device
from noiselimit.data.reading import Reading
from noiselimit.data.sources import load_data
from noiselimit.files import write_json
from noiselimit.grids import grid
from noiselimit.machine import available_cores
from noiselimit.training import circumstances, train

RESULTS = Path(__file__).resolve().parent.parent / "results"
PATHS = {
    "plain": {"precision": "float32", "kernels": "off", "graphs": "off"},
    "fast": {"precision": "bfloat16", "kernels": "auto", "graphs": "auto"},
    "fast, float32": {"precision": "float32", "kernels": "auto", "graphs": "auto"},
}
NOISE, EPOCHS, SEEDS = "uniform:0.8", 30, 12
SETTINGS = [{"method": "ce"}, {"method": "limit-g", "beta": 100}, {"method": "limit-l", "beta": 10}]


def facts(device: torch.device) -> dict[str, Any]:
    """Where, with what and from which source."""
    commit, changed = source_state()
    return {**circumstances(device), "commit": commit, "changed": changed}


def precision(
    device: torch.device, data_dir: str | None, methods: Sequence[str], seeds: int, epochs: int, quick: bool
) -> Iterator[dict[str, Any]]:
    """Accuracy and gap AUC of the plain path and of fast ones, MNIST with 80 % wrong labels; path by path."""
    settings = [setting for setting in SETTINGS if setting["method"] in methods]
    data = load_data("mnist", data_dir, False, lambda name, arrived: None, Reading())
    common = {"noise": NOISE, "seed": list(range(seeds)), "epochs": 1 if quick else epochs}
    size = {"train_size": 512} if quick else {}
    rows = []
    ways = {path: way for path, way in PATHS.items() if device.type == "cuda" or path != "fast, float32"}
    for path, way in ways.items():
        pace = {name: value for name, value in way.items() if name != "precision"}
        specs = [
            spec
            for setting in settings
            for spec in grid(**setting, **common, **size, precision=way["precision"])
        ]
        runs = train(specs, data, device=device, **pace)  # type: ignore[arg-type]
        for number, setting in enumerate(settings):
            own = runs[number * seeds : (number + 1) * seeds]
            rows.append(
                {
                    "method": setting["method"],
                    "beta": setting.get("beta"),
                    "path": path,
                    "precision": own[0].spec.precision,
                    "seeds": list(range(seeds)),
                    "test_accuracy": [run.metrics["test_accuracy"] for run in own],
                    "gap_auc": [run.metrics["gap_auc"] for run in own],
                    "cohort_seconds": own[0].metrics["cohort_seconds"],
                }
            )
        yield {
            **facts(device),
            "epochs": common["epochs"],
            "noise": NOISE,
            "data": "mnist",
            "quick": quick,
            "rows": rows,
        }


@contextmanager
def first_suggestion() -> Iterator[None]:
    """cuDNN takes the algorithm that it thinks fastest, without trying."""
    flags = torch.backends.cudnn.flags

    def untried(**settings: Any) -> Any:
        return flags(**{**settings, "benchmark": False})

    with patch("torch.backends.cudnn.flags", untried):
        yield


@contextmanager
def separate_statistics() -> Iterator[None]:
    """Batch-norm reads a convolution's result once more for its statistics."""
    from noiselimit.kernels import convolution

    def convolve_only(*arguments: Any) -> tuple[torch.Tensor, None]:
        return convolution.convolve(*arguments), None

    with patch("noiselimit.kernels.convolution.convolve_with_statistics", convolve_only):
        yield


@contextmanager
def wide_tiles() -> Iterator[None]:
    """Twice as many outputs in a tile of the forward convolution."""
    from dataclasses import replace

    from noiselimit.kernels import convolution

    usual = convolution.forward_tile

    def wide(*arguments: Any) -> Any:
        tile = usual(*arguments)
        return replace(tile, BM=2 * tile.BM)

    with patch("noiselimit.kernels.convolution.forward_tile", wide):
        yield


TRIED: list[tuple[str, Work, int, Callable[[], Any]]] = [
    ("cuDNN's first suggestion instead of the fastest of those tried", CIFAR_CE, 1, first_suggestion),
    (
        "the two networks of a run one after the other, not side by side",
        CIFAR_LIMIT,
        1,
        lambda: patch("noiselimit.cohort.side_by_side.STREAMS", 1),
    ),
    (
        "batch-norm's statistics in a pass of their own, not in the convolution's",
        MNIST,
        64,
        separate_statistics,
    ),
    ("tiles of 256 outputs in the forward convolution, not of 128", MNIST, 64, wide_tiles),
    (
        "rows of a cohort one after the other, recorded, not stacked",
        MNIST,
        8,
        lambda: patch("noiselimit.cohort.layouts.can_stack", lambda module: False),
    ),
]


def tried(device: torch.device, quick: bool, done: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Seconds per run and epoch as it is, and with one thing done otherwise; more with every row.

    Rows that are done already are kept, with the commit they were measured at.
    """
    session = Session(device, available_cores(), effort_for(device.type, quick=quick))
    usual: dict[tuple[str, str, int], float] = {}
    rows = list(done)
    commit = source_state()[0]
    for what, work, runs, otherwise in TRIED:
        if any(row["what"] == what for row in done):
            continue
        k = min(runs, 2) if quick else runs
        key = (work.data, work.method, k)
        if key not in usual:
            usual[key] = session.time(work, k).seconds
        with otherwise():
            instead = session.time(work, k).seconds
        rows.append(
            {
                "what": what,
                "work": f"{work.data}, {work.network}, {work.method}",
                "k": k,
                "seconds": usual[key],
                "instead_seconds": instead,
                "commit": commit,
            }
        )
        yield {
            **facts(device),
            "epochs": session.effort.epochs,
            "warm_up": session.effort.warm_up,
            "quick": quick,
            "rows": rows,
        }


def compiled(device: torch.device, quick: bool) -> dict[str, Any]:
    """torch.compile on the plain ResNet-34, forward and backward alone, against our own whole epoch."""
    from noiselimit.networks import NETWORKS

    session = Session(device, available_cores(), effort_for(device.type, quick=quick))
    ours = session.time(CIFAR_CE, 1)
    network = NETWORKS["resnet-18" if quick else "resnet-34"].build((3, 32, 32), 10).to(device)
    network = network.to(memory_format=torch.channels_last)
    shape = (8 if quick else 256, 3, 32, 32)
    inputs = torch.randn(shape, device=device).to(memory_format=torch.channels_last)
    labels = torch.zeros(len(inputs), dtype=torch.int64, device=device)
    step_of = torch.compile(network)

    def step() -> None:
        with torch.autocast(device.type, torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(step_of(inputs)[0], labels)
        loss.backward()

    def seconds_of(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return (time.perf_counter() - started) / count

    compilation = seconds_of(1)
    seconds_of(3)
    each = seconds_of(3 if quick else 50)
    return {
        **facts(device),
        "quick": quick,
        "compile_seconds": compilation,
        "step_seconds": each,
        "steps": -(-ours.train_examples // 256),
        "our_epoch_seconds": ours.seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["precision", "tried", "compile"])
    parser.add_argument("--data-dir")
    parser.add_argument("--methods", default="ce,limit-g,limit-l")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    device = find_device(given.device)
    contents: Iterable[dict[str, Any]]
    if given.what == "precision":
        methods = given.methods.split(",")
        contents = precision(device, given.data_dir, methods, given.seeds, given.epochs, given.quick)
    elif given.what == "tried":
        before = json.loads(given.out.read_text("utf-8")) if given.out and given.out.exists() else {}
        done = [{"commit": before["commit"], **row} for row in before.get("rows", [])]
        contents = tried(device, given.quick, done)
    else:
        contents = [compiled(device, given.quick)]
    name = f"{given.what}-cpu" if device.type == "cpu" else given.what
    for content in contents:  # an interruption costs one row, or one path
        write_json(given.out or RESULTS / f"{name}.json", content)


if __name__ == "__main__":
    main()
