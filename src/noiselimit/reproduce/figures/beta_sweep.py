"""Supplement: what β does to LIMIT on MNIST with 80 % wrong labels."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from noiselimit.report.panels import panels
from noiselimit.report.scales import round_below
from noiselimit.report.wording import SPACE
from noiselimit.reproduce.figures.curves import KIND, Curves, read_curves
from noiselimit.reproduce.figures.figure import Figure, tasks_of
from noiselimit.reproduce.figures.kept import Kept
from noiselimit.reproduce.figures.learning_curves import CELLS, LEARNING_CURVES
from noiselimit.reproduce.figures.lines import SIDES, SMOOTHING, side_chart, trained_words
from noiselimit.reproduce.paper import LABELS

METHODS = ("limit-g", "limit-l")
PALEST = 0.25
LEAST_ERROR = 1e-3
"""The highest test accuracy that the axis has room for is 99.9 %."""


def beta_of(curves: Curves) -> float:
    """The run's β."""
    return float(curves.row.hyper.removeprefix("beta="))


def sweep(kept: Sequence[Kept], method: str) -> list[Curves]:
    """The method's runs with rising β."""
    return sorted((read_curves(one) for one in kept if one.row.method == method), key=beta_of)


def _style(betas: Sequence[float]) -> Callable[[Curves], dict[str, Any]]:
    def style(curves: Curves) -> dict[str, Any]:
        share = betas.index(beta_of(curves)) / max(len(betas) - 1, 1)
        label = f"β {beta_of(curves):g}"
        return {"label": label, "emphasis": "chosen", "strength": PALEST + (1 - PALEST) * share}

    return style


def _train_axis(curves: Sequence[Curves]) -> dict[str, Any]:
    """Of one method, up to the next ten per cent: LIMIT-L hardly learns wrong labels, so that all are low."""
    highest = max(share for one in curves for share in one.train)
    return {"y_span": (0.0, max(math.ceil(10 * highest), 1) / 10)}


def _test_axis(curves: Sequence[Curves]) -> dict[str, Any]:
    """Of both: those of LIMIT-L differ by hundredths below 100 %, so that the axis is stretched there."""
    highest = max(share for one in curves for share in one.test)
    return {
        "y_span": (0.0, 1 - round_below(max(1 - highest, LEAST_ERROR))),
        "y_format": lambda share: f"{100 * share:.4g}{SPACE}%",
        "to_one": True,
    }


def _draw(kept: Sequence[Kept]) -> str | None:
    found = {method: curves for method in METHODS if (curves := sweep(kept, method))}
    if not found:
        return None
    test_axis = _test_axis([one for curves in found.values() for one in curves])
    charts = [
        side_chart(
            curves,
            side,
            _style([beta_of(one) for one in curves]),
            f"{LABELS[method]}: ",
            **(_train_axis(curves) if side == "train" else test_axis),
        )
        for side in SIDES
        for method, curves in found.items()
    ]
    return panels(charts, title="Accuracy per epoch by β, 80 % wrong labels", columns=len(found))


def _caption(kept: Sequence[Kept]) -> str:
    curves = [read_curves(one) for one in kept]
    return (
        f"{trained_words(curves)}. The darker, the larger β. Lines end where a run stopped. Training "
        "accuracies of each method have an axis of their own, test accuracies one that halves the error in "
        f"equal steps. {SMOOTHING}"
    )


BETA_SWEEP = Figure(
    name="beta-sweep",
    title="What β does to LIMIT on MNIST with 80 % wrong labels",
    place="Supplement (fig:mnist-error-noise80-beta) of the paper",
    data="mnist",
    kind=KIND,
    wants=lambda row: row.method in METHODS and LEARNING_CURVES.wants(row),
    tasks=lambda protocol: tasks_of([cell for cell in CELLS if cell.method in METHODS], protocol),
    draw=_draw,
    caption=_caption,
)
