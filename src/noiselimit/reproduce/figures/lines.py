"""Pairs of charts over epochs: accuracy on noisy training labels, and on clean test labels."""

from collections.abc import Callable, Sequence
from typing import Any

from noiselimit.report.charts import Line, line_chart
from noiselimit.report.wording import percent
from noiselimit.reproduce.figures.curves import SMOOTHED, Curves, points
from noiselimit.reproduce.studies import wrong_share

SIDES = ("train", "test")
SMOOTHING = f"Curves are means over {SMOOTHED} epochs."
TITLES = {"train": "training accuracy, noisy labels", "test": "test accuracy, clean labels"}


def side_chart(
    curves: Sequence[Curves],
    side: str,
    style: Callable[[Curves], dict[str, Any]],
    whose: str = "",
    **axis: Any,
) -> str:
    """A standalone chart of one side of the curves; `style` gives label and looks of each line.

    `axis` is what `line_chart` is to know of the accuracies' axis, if that is not from 0 to 100 %.
    """
    lines = [Line(points=points(getattr(one, side)), **style(one)) for one in curves]
    wrong = wrong_share(curves[0].row)
    right = None if wrong is None else 1 - wrong
    return line_chart(
        lines,
        title=f"{whose}{TITLES[side]}, per epoch",
        x_label="epoch",
        y_label=f"{whose}{TITLES[side]}",
        reference=(right, f"right labels: {percent(right, 0)}") if right and side == "train" else None,
        standalone=True,
        **axis,
    )


def trained_words(curves: Sequence[Curves]) -> str:
    """'mnist-cnn, seed 0, …': what the runs have in common, for a caption."""
    row = curves[0].row
    lengths = sorted({len(one.train) for one in curves})
    epochs = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    limit = max(one.row.epochs for one in curves)
    return (
        f"{row.network}, seed {row.seed}, {epochs} epochs (at most {limit}, patience "
        f"{max(one.row.patience for one in curves)})"
    )
