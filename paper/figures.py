"""The paper's figures: which runs they show, what those runs leave behind, and where it is kept.

When a run ends, `collect` keeps what figures need of it in OUT/figures: accuracies per epoch (curves.csv),
histograms of gaps and predicted gradients (histograms.csv), and the most suspicious examples (suspects.csv).
`draw` makes images from these files, without any training.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from noiselimit.data.examples import DataSet
from noiselimit.files import make_folder
from noiselimit.runs.run import Run
from paper import drawing
from paper.drawing import BINS, LOOKS, SPAN, UNIT, parse_suspects
from paper.protocol import Cell, Grid, Protocol, Task, make_tasks, protocol_for
from paper.rows import RUN, append_rows, best, current, read_rows
from paper.tables import PAPER, TABLES

SEED = 0
"""Figures show one split."""
SUSPECTS = {"mnist": 8, "cifar10": 8, "clothing1m": 16}
"""Data set → suspicious images per class."""
LIMITS = ("limit-l", "limit-g", "limit-l+init", "limit-g+init")


@dataclass(frozen=True)
class Figure:
    """One figure of the paper."""

    name: str
    title: str
    kind: str
    """What it is drawn from: curves, histograms or suspects."""
    draw: Callable[[pd.DataFrame], str | None]
    """An SVG of these runs; None if there is nothing to draw."""
    cells: Sequence[Cell] = ()
    """The cells whose runs it shows; none if nothing is trained."""
    grids: Sequence[Grid] = ()
    """What is searched for each of the cells, if that is not the table's."""
    memorises: bool = False
    """Whether it trains an MLP to the end in place of the table's network: memorisation shows late."""

    def protocol(self, *, quick: bool = False, epochs: int | None = None) -> Protocol:
        """How its runs are trained."""
        found = protocol_for(self.cells[0].data, quick=quick, epochs=epochs)
        if not self.memorises:
            return found
        return replace(found, network="mlp-4x512", epochs=min(200, found.epochs), patience=200)

    def tasks(self, protocol: Protocol) -> list[Task]:
        """The runs that it shows."""
        found = []
        for number, cell in enumerate(self.cells):
            grid = dict(self.grids[number]) if self.grids else None
            if grid and protocol.quick:
                grid = {name: values[:1] for name, values in grid.items()}
            found += make_tasks(cell, [SEED], protocol, grid)
        return found

    def select(self, rows: pd.DataFrame, *, quick: bool = False) -> pd.DataFrame:
        """The rows, of all that are kept, that it shows."""
        tasks = self.tasks(self.protocol(quick=quick)) if self.cells else []
        settings = [task.setting for task in tasks]
        return current(rows[(rows["seed"] == SEED) & rows["setting"].isin(settings)])

    def file_name(self, *, quick: bool) -> str:
        """Name of its images."""
        return f"{self.name}-quick" if quick else self.name


def read_kept(out: Path, kind: str) -> pd.DataFrame:
    """What was kept of runs for figures of a kind: rows with the column `values`."""
    return read_rows(out / "figures" / f"{kind}.csv", values=True)


def draw(figure: Figure, out: Path, *, quick: bool = False) -> list[Path]:
    """Draw what was measured so far and return the files; sheets of images are there already."""
    image = figure.draw(figure.select(read_kept(out, figure.kind), quick=quick))
    name = figure.file_name(quick=quick)
    if image is None:
        return sorted((out / "figures").glob(f"{name}-[0-9].png"))
    path = make_folder(out / "figures") / f"{name}.svg"
    path.write_text(image, "utf-8")
    return [path]


def collect(row: pd.DataFrame, run: Run, data: DataSet, out: Path, device: torch.device) -> None:
    """Keep in OUT/figures what figures show of a run that has ended."""
    first = row.iloc[0]
    quick = bool(first["quick"])
    if first["seed"] != SEED or first["failure"] or first["best_epoch"] == 0:
        return
    wanted = [figure for figure in FIGURES.values() if len(figure.select(row, quick=quick))]
    for kind in dict.fromkeys(figure.kind for figure in wanted):
        if read_kept(out, kind).merge(row, on=RUN).empty:
            values = _values(kind, run, data, device, SUSPECTS.get(first["data"], 0))
            append_rows(out / "figures" / f"{kind}.csv", row.assign(values=values))
    for figure in wanted:
        if figure.kind == "suspects":
            shown = best(figure.select(read_kept(out, "suspects"), quick=quick)).iloc[0]
            if shown["setting"] == first["setting"]:
                name = figure.file_name(quick=quick)
                _save_sheets(out / "figures", name, shown["values"], data, run.data.highest or 1.0)


def _save_sheets(folder: Path, name: str, suspects: str, data: DataSet, highest: float) -> None:
    """Write NAME-1.png, NAME-2.png, ...: ten classes on each, the suggested class below each image."""
    names, inputs = data.examples.class_names, data.examples.inputs
    rows: list[tuple[str, list[Any]]] = [(title, []) for title in names]
    for index, given, suggested in parse_suspects(suspects):
        rows[given][1].append((np.asarray(inputs[[index]])[0] / highest, names[suggested]))
    for path in folder.glob(f"{name}-[0-9].png"):
        path.unlink()
    for number, start in enumerate(range(0, len(rows), 10), 1):
        drawing.draw_sheet(rows[start : start + 10]).save(folder / f"{name}-{number}.png", optimize=True)


def _values(kind: str, run: Run, data: DataSet, device: torch.device, suspects: int) -> str:
    """What is kept of the run: numbers on one line without commas."""
    if kind == "curves":
        names = ("train_accuracy", "test_accuracy", "validation_accuracy")
        curves = [[round(UNIT * (record[name] or 0.0)) for record in run.history] for name in names]
        return "/".join(" ".join(map(str, curve)) for curve in curves)
    if kind == "histograms":
        outputs = run.outputs[run.outputs["part"] == "train"]
        wrong = (outputs["given_label"] != outputs["clean_label"]).to_numpy(bool)
        inputs = np.asarray(data.examples.inputs)[outputs["index"].to_numpy(np.int64)]
        norms, gaps = gradient_norms(run, inputs, device), outputs["gap"].to_numpy(np.float64)
        parts = [np.clip(x[part], *SPAN) for x in (norms, gaps) for part in (~wrong, wrong)]
        counts = [np.histogram(part, BINS, SPAN)[0] for part in parts]
        return "/".join(" ".join(map(str, each)) for each in counts)
    known = run.outputs[run.outputs["part"] != "test"]
    known = known.sort_values(["given_label", "gap", "index"], ascending=[True, False, True])
    first = known.groupby("given_label", sort=False).head(suspects)
    columns = zip(first["index"], first["given_label"], first["suggested_label"], first["gap"], strict=True)
    return " ".join(f"{index}:{given}:{suggested}:{gap:.4f}" for index, given, suggested, gap in columns)


def gradient_norms(run: Run, inputs: npt.NDArray[Any], device: torch.device) -> npt.NDArray[np.float64]:
    """[n]: norm of the predicted gradient, ‖softmax(a) − softmax(r)‖, of the best epoch's networks."""
    assert run.predictor is not None
    classifier, predictor = (copy.deepcopy(module).to(device) for module in (run.model, run.predictor))
    norms = []
    with torch.inference_mode():
        for start in range(0, len(inputs), 1000):
            batch = run.data.standardised(inputs[start : start + 1000]).to(device)
            predicted = classifier(batch)[0].softmax(-1) - predictor(batch)[0].softmax(-1)
            norms.append(predicted.norm(dim=-1).double().cpu().numpy())
    return np.concatenate(norms)


def _noisy_mnist(*methods: str) -> list[Cell]:
    return [Cell("mnist", "uniform", 0.8, 48_000, method) for method in methods]


def _best_limit(data: str, noise: str, p: float | None) -> list[Cell]:
    """The LIMIT without sampling that is best in the paper on all examples of the problem."""
    cells = [cell for cell in TABLES[data] if (cell.noise, cell.p) == (noise, p) and cell.method in LIMITS]
    return [
        max((cell for cell in cells if cell.n in (None, 40_000, 48_000)), key=lambda cell: PAPER[cell][0])
    ]


def _suspicious(data: str, noise: str, p: float | None, name: str) -> Figure:
    title = f"The {SUSPECTS[data]} most suspicious labels of each class, {name}"
    return Figure(f"suspicious-{data}", title, "suspects", lambda rows: None, _best_limit(data, noise, p))


def _histograms(name: str, data: str, noise: str, p: float, title: str) -> Figure:
    title, cells = f"Predicted gradients and gaps, {title}", _best_limit(data, noise, p)
    return Figure(f"histograms-{name}", title, "histograms", drawing.draw_histograms, cells)


def _learning_curves(name: str, cells: Sequence[Cell], title: str) -> Figure:
    return Figure(
        name, f"Training and test accuracy on {title}", "curves", drawing.draw_learning_curves, cells
    )


_CIFAR = (
    ("cifar10-uniform", "cifar10", "uniform", "CIFAR-10 with 40 % uniform noise"),
    ("cifar10-pair", "cifar10", "pair", "CIFAR-10 with 40 % pair noise"),
    ("cifar100", "cifar100", "uniform", "CIFAR-100 with 40 % uniform noise"),
)
_FIGURES = (
    Figure(
        "memorisation",
        "Who memorises: MLP of 4 × 512 units on MNIST with 80 % wrong labels",
        "curves",
        drawing.draw_memorisation,
        _noisy_mnist("ce", "ce", "ce", "limit-l"),
        grids=(
            {},
            {"dropout": (0.5, 0.25, 0.75)},
            {"weight_decay": (1e-3, 1e-4, 1e-2)},
            {"beta": (10.0, 3.0, 30.0, 100.0, 1.0, 0.3, 0.1, 0.0)},
        ),
        memorises=True,
    ),
    Figure("fano", "Least training error against memorised bits", "curves", drawing.draw_fano),
    _learning_curves("learning-curves", _noisy_mnist(*LOOKS)[:6], "MNIST with 80 % wrong labels"),
    Figure(
        "beta-sweep",
        "What β does to LIMIT on MNIST with 80 % wrong labels",
        "curves",
        drawing.draw_beta_sweep,
        _noisy_mnist("limit-g", "limit-l"),
    ),
    _histograms("mnist", "mnist", "uniform", 0.8, "MNIST with 80 % uniform noise"),
    *(_histograms(name, data, noise, 0.4, title) for name, data, noise, title in _CIFAR),
    _suspicious("mnist", "uniform", 0.0, "MNIST"),
    _suspicious("cifar10", "uniform", 0.0, "CIFAR-10"),
    _suspicious("clothing1m", "real", None, "Clothing1M"),
    *(
        _learning_curves(
            f"learning-curves-{name}", [Cell(data, noise, 0.4, 40_000, each) for each in LOOKS], title
        )
        for name, data, noise, title in _CIFAR
    ),
)
FIGURES = {figure.name: figure for figure in _FIGURES}
"""By name, in the order of the paper; the learning curves of CIFAR are ours."""
