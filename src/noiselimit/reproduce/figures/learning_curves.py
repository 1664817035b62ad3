"""Fig. 3: training and test accuracy by epoch on MNIST with 80 % wrong labels."""

from collections.abc import Sequence
from typing import Any

from noiselimit.report.panels import panels
from noiselimit.reproduce.figures.curves import KIND, Curves, read_curves
from noiselimit.reproduce.figures.figure import Figure, tasks_of, wanted_by
from noiselimit.reproduce.figures.kept import Kept, best
from noiselimit.reproduce.figures.lines import SIDES, side_chart, trained_words
from noiselimit.reproduce.studies import Cell

METHODS = {"ce": "CE", "mae": "MAE", "fw": "FW", "dmi": "DMI", "limit-g": "LIMIT-G", "limit-l": "LIMIT-L"}
"""As the paper calls them."""
CELLS = tuple(Cell("mnist", "uniform", 0.8, 48_000, method) for method in METHODS)


def chosen(kept: Sequence[Kept]) -> list[Curves]:
    """Of each method the value that the noisy validation labels choose."""
    found = (best(one for one in kept if one.row.method == method) for method in METHODS)
    return [read_curves(one) for one in found if one is not None]


def _style(curves: Curves) -> dict[str, Any]:
    row = curves.row
    emphasis = "chosen" if row.method.startswith("limit") else "baseline"
    label = METHODS[row.method]
    tooltip = f"{label} {row.hyper}".strip()
    pale = row.method not in ("ce", "limit-l")
    return {"label": label, "emphasis": emphasis, "tooltip": tooltip, "strength": 0.5 if pale else 1.0}


def _draw(kept: Sequence[Kept]) -> str | None:
    curves = chosen(kept)
    if not curves:
        return None
    title = "Accuracy per epoch with 80 % wrong labels"
    return panels([side_chart(curves, side, _style) for side in SIDES], title=title)


def _caption(kept: Sequence[Kept]) -> str:
    curves = chosen(kept)
    values = ", ".join(f"{METHODS[one.row.method]} {one.row.hyper}" for one in curves if one.row.hyper)
    return (
        f"{trained_words(curves)}. Lines end where a run stopped. Chosen by the noisy validation labels: "
        f"{values}. Curves are means over 5 epochs."
    )


LEARNING_CURVES = Figure(
    name="learning-curves",
    title="Training and test accuracy on MNIST with 80 % wrong labels",
    place="Fig. 3",
    data="mnist",
    kind=KIND,
    wants=wanted_by(CELLS),
    tasks=lambda protocol: tasks_of(CELLS, protocol),
    draw=_draw,
    caption=_caption,
)
