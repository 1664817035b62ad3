"""Fig. 1: who memorises labels of which 80 % are wrong. The only figure with trainings that no table has."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from noiselimit.grids import grid
from noiselimit.information import least_information, uniform_noise_entropy
from noiselimit.report.panels import panels
from noiselimit.reproduce.figures.curves import KIND, Curves, read_curves
from noiselimit.reproduce.figures.figure import SEED, Figure
from noiselimit.reproduce.figures.kept import Kept
from noiselimit.reproduce.figures.lines import SIDES, SMOOTHING, side_chart, trained_words
from noiselimit.reproduce.protocol import BETAS, LIKELY, Protocol
from noiselimit.reproduce.rows import ResultRow, hyper_text
from noiselimit.reproduce.studies import Cell, run_noise
from noiselimit.reproduce.work import Task
from noiselimit.spec import RunSpec

NETWORK = "mlp-4x512"
EPOCHS = 200
"""No early stopping: memorising shows after the best epoch."""
P, CLASSES = 0.8, 10
SEARCHED: dict[str, tuple[str, dict[str, tuple[float, ...]]]] = {
    "cross-entropy": ("ce", {}),
    "dropout": ("ce", {"dropout": (0.5, 0.25, 0.75)}),
    "weight decay": ("ce", {"weight_decay": (1e-3, 1e-4, 1e-2)}),
    "LIMIT-L": ("limit-l", {"beta": tuple(value for value in LIKELY if value in BETAS)}),
}
"""Training → method and what is searched; the paper does not say which shares and rates it took."""
LOOKS: dict[str, dict[str, Any]] = {"dropout": {"strength": 0.5}, "weight decay": {"dashed": True}}
"""Training → what tells its line from that of plain cross-entropy, which has its colour."""
VALUES = {
    hyper_text({name: value})
    for _, searched in SEARCHED.values()
    for name, values in searched.items()
    for value in values
} | {""}
"""As rows say them."""


def _tasks(protocol: Protocol) -> list[Task]:
    return [
        Task(cell, spec, hyper_text({name: _value(spec, name) for name in searched}))
        for method, searched in SEARCHED.values()
        for cell in [Cell("mnist", "uniform", P, 48_000, method)]
        for spec in grid(
            method=method,
            seed=SEED,
            noise=run_noise(cell, quick=protocol.quick),
            network=protocol.network,
            epochs=protocol.epochs,
            patience=protocol.patience,
            batch_size=protocol.batch_size,
            learning_rate=protocol.learning_rate,
            train_size=protocol.train_sizes[cell.n],
            **{name: list(values[:1] if protocol.quick else values) for name, values in searched.items()},
        )
    ]


def _adapted(protocol: Protocol) -> Protocol:
    # One patience for shorter runs too, which it cannot end either: their rows have the whole run's key.
    return replace(protocol, network=NETWORK, epochs=min(EPOCHS, protocol.epochs), patience=EPOCHS)


def _value(spec: RunSpec, name: str) -> float:
    return float(spec.hyper[name] if name in spec.hyper else getattr(spec, name))


def training_of(row: ResultRow) -> str:
    """Which of the trainings a row is of."""
    searched = {"dropout": "dropout", "weight_decay": "weight decay", "beta": "LIMIT-L"}
    return searched.get(row.hyper.partition("=")[0], "cross-entropy")


def chosen(kept: Sequence[Kept]) -> dict[str, Curves]:
    """Training → the value that the noisy validation labels prefer in the end: none stops at its best."""
    found: dict[str, Curves] = {}
    for name in SEARCHED:
        own = [curves for curves in ended(kept) if training_of(curves.row) == name]
        if own:
            found[name] = max(own, key=lambda curves: curves.last_validation)
    return found


def ended(kept: Sequence[Kept]) -> list[Curves]:
    """What was trained to its end and can be compared there."""
    found = [read_curves(one) for one in kept if not one.row.failure]
    return [curves for curves in found if curves.validation]


def _draw(kept: Sequence[Kept]) -> str | None:
    shown = chosen(kept)
    if not shown:
        return None
    names = {id(curves): name for name, curves in shown.items()}

    def style(curves: Curves) -> dict[str, Any]:
        name = names[id(curves)]
        value = f", {curves.row.hyper.replace('_', ' ')}" if curves.row.hyper else ""
        emphasis = "chosen" if name.startswith("LIMIT") else "baseline"
        return {"label": name, "emphasis": emphasis, "tooltip": name + value, **LOOKS.get(name, {})}

    charts = [side_chart(list(shown.values()), side, style) for side in SIDES]
    return panels(charts, title="Memorisation of noisy labels, per epoch")


def _caption(kept: Sequence[Kept]) -> str:
    shown = chosen(kept)
    entropy = uniform_noise_entropy(P, CLASSES)
    said = "; ".join(
        f"{name}{f' ({curves.row.hyper})' if curves.row.hyper else ''} {100 * curves.train[-1]:.1f} %, "
        f"{least_information(entropy, 1 - curves.train[-1], CLASSES):.2f} bits, {100 * curves.test[-1]:.1f} %"
        for name, curves in shown.items()
    )
    at_chance = [curves.row.hyper for curves in ended(kept) if curves.test[-1] < 2 / CLASSES]
    lost = f" At chance in the end: {', '.join(at_chance)}." if at_chance else ""
    return (
        f"{trained_words(list(shown.values()))}, no early stopping. In the last epoch, training accuracy "
        f"({100 * (1 - P):.0f} % of the labels are right: more is memorised), the bits per label of "
        f"{entropy:.2f} that this implies at least (an indication: Theorem 2.1 is about expectations over "
        f"draws, and this is one run each), and test accuracy: {said}. Values in brackets were chosen by the "
        f"noisy validation labels of the last epochs, among {len(kept)} runs.{lost} {SMOOTHING}"
    )


MEMORISATION = Figure(
    name="memorisation",
    title="Who memorises: MLP of 4 × 512 units on MNIST with 80 % wrong labels",
    place="Fig. 1 of the paper",
    data="mnist",
    kind=KIND,
    wants=lambda row: (
        (row.network, row.patience, row.seed) == (NETWORK, EPOCHS, SEED) and row.hyper in VALUES
    ),
    tasks=_tasks,
    draw=_draw,
    caption=_caption,
    adapted=_adapted,
)
