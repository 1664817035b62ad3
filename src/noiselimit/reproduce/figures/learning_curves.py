"""Fig. 3: training and test accuracy by epoch with many wrong labels; and the same of CIFAR."""

from collections.abc import Sequence
from typing import Any

from noiselimit.report.panels import panels
from noiselimit.report.wording import percent
from noiselimit.reproduce.figures.curves import KIND, Curves, read_curves
from noiselimit.reproduce.figures.figure import Figure, tasks_of, wanted_by
from noiselimit.reproduce.figures.kept import Kept, best
from noiselimit.reproduce.figures.lines import SIDES, SMOOTHING, side_chart, trained_words
from noiselimit.reproduce.paper import LABELS
from noiselimit.reproduce.studies import Cell, wrong_share

METHODS = ("ce", "mae", "fw", "dmi", "limit-g", "limit-l", "limit-g+init", "limit-l+init")
# Four looks in each of the two colours, so that no two lines of a chart are alike.
PALE = ("mae", "fw", "limit-g", "limit-g+init")
DASHED = ("mae", "dmi", "limit-g+init", "limit-l+init")


def chosen(kept: Sequence[Kept]) -> list[Curves]:
    """Of each method the value that the noisy validation labels choose."""
    found = (best(one for one in kept if one.row.method == method) for method in METHODS)
    return [read_curves(one) for one in found if one is not None]


def _style(curves: Curves) -> dict[str, Any]:
    row = curves.row
    label = LABELS[row.method]
    return {
        "label": label,
        "emphasis": "chosen" if row.method.startswith("limit") else "baseline",
        "tooltip": f"{label} {row.hyper}".strip(),
        "strength": 0.5 if row.method in PALE else 1.0,
        "dashed": row.method in DASHED,
    }


def _draw(kept: Sequence[Kept]) -> str | None:
    curves = chosen(kept)
    if not curves:
        return None
    title = f"Accuracy per epoch with {percent(wrong_share(curves[0].row) or 0, 0)} wrong labels"
    return panels([side_chart(curves, side, _style) for side in SIDES], title=title)


def _caption(kept: Sequence[Kept]) -> str:
    curves = chosen(kept)
    values = ", ".join(f"{LABELS[one.row.method]} {one.row.hyper}" for one in curves if one.row.hyper)
    return (
        f"{trained_words(curves)}. Lines end where a run stopped. Chosen by this seed's noisy validation "
        f"labels: {values or 'nothing'}. {SMOOTHING}"
    )


def _figure(name: str, what: str, place: str, cells: Sequence[Cell]) -> Figure:
    return Figure(
        name=name,
        title=f"Training and test accuracy on {what}",
        place=place,
        data=cells[0].data,
        kind=KIND,
        wants=wanted_by(cells),
        tasks=lambda protocol: tasks_of(cells, protocol),
        draw=_draw,
        caption=_caption,
    )


def _of_cifar(data: str, noise: str, what: str) -> Figure:
    name = "-".join(["learning-curves", data, *([noise] if data == "cifar10" else [])])
    cells = [Cell(data, noise, 0.4, 40_000, method) for method in METHODS]
    return _figure(name, what, "Not in the paper: whether the table's runs were long enough", cells)


CELLS = tuple(
    Cell("mnist", "uniform", 0.8, 48_000, method) for method in METHODS if not method.endswith("+init")
)
LEARNING_CURVES = _figure("learning-curves", "MNIST with 80 % wrong labels", "Fig. 3 of the paper", CELLS)
CIFAR_CURVES = (
    _of_cifar("cifar10", "uniform", "CIFAR-10 with 40 % uniform noise"),
    _of_cifar("cifar10", "pair", "CIFAR-10 with 40 % pair noise"),
    _of_cifar("cifar100", "uniform", "CIFAR-100 with 40 % uniform noise"),
)
