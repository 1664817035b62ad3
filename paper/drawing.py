"""The figures as SVG, drawn from what runs left in OUT/figures."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.report.charts import Bars, Line, fano_chart, fano_curve, histogram, line_chart, panels
from paper.rows import best

UNIT = 10_000
"""Curves keep accuracies as whole numbers up to this."""
SMOOTHED = 5
"""Epochs over which a drawn curve is averaged."""
BINS, SPAN = 40, (0.0, 2**0.5)
"""Of histograms."""
PAIR_SHARE = 0.4
"""Of the classes, whose labels pair noise may change."""
METHODS: dict[str, tuple[str, float, bool]] = {
    "ce": ("CE", 1.0, False),
    "mae": ("MAE", 0.5, True),
    "fw": ("FW", 0.5, False),
    "dmi": ("DMI", 1.0, True),
    "limit-g": ("LIMIT-G − S", 0.5, False),
    "limit-l": ("LIMIT-L − S", 1.0, False),
    "limit-g+init": ("LIMIT-G + init", 0.5, True),
    "limit-l+init": ("LIMIT-L + init", 1.0, True),
}
"""Methods of the learning curves: the paper's name, opacity of the line, and whether it is dashed."""
TRAININGS: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("cross-entropy", {}),
    "dropout": ("dropout", {"strength": 0.5}),
    "weight_decay": ("weight decay", {"dashed": True}),
    "beta": ("LIMIT-L", {}),
}
"""Searched hyper-parameter of a run of Fig. 1 → name and look of its line."""

Style = Callable[[Any], dict[str, Any]]
"""Row → label and look of its line."""


def parse_curves(text: str) -> list[list[float]]:
    """Training, test and, in newer files, validation accuracy after each epoch."""
    curves = [[int(value) / UNIT for value in part.split()] for part in text.split("/")]
    if len(curves) not in (2, 3) or len({len(curve) for curve in curves}) > 1 or not curves[0]:
        raise ValueError("values are no curves of equal length")
    return curves


def parse_histograms(text: str) -> npt.NDArray[np.int64]:
    """Counts [gradient norm, gap] x [right, wrong labels] x BINS."""
    return np.array([part.split() for part in text.split("/")]).astype(np.int64).reshape(2, 2, BINS)


def parse_suspects(text: str) -> list[tuple[int, int, int]]:
    """Index, given and suggested class of each."""
    parts = [part.split(":") for part in text.split()]
    return [(int(index), int(given), int(suggested)) for index, given, suggested, _ in parts]


PARSERS: dict[str, Callable[[str], Any]] = {
    "curves": parse_curves,
    "histograms": parse_histograms,
    "suspects": parse_suspects,
}
"""By the kind of file."""


def draw_fano(rows: pd.DataFrame) -> str:
    """Fig. 2, which needs no runs: uniform noise with 10 classes."""
    return fano_chart([fano_curve(noise, 10) for noise in ("0.2", "0.4", "0.6", "0.8")], 10)


def draw_learning_curves(rows: pd.DataFrame) -> str | None:
    """Of each method the value that the noisy validation labels choose."""
    chosen = pd.concat([best(rows[rows["method"] == method]) for method in METHODS])
    if chosen.empty:
        return None

    def style(row: Any) -> dict[str, Any]:
        label, strength, dashed = METHODS[row.method]
        emphasis = "chosen" if row.method.startswith("limit") else "baseline"
        tooltip = f"{label} {row.hyper}".strip()
        look = {"strength": strength, "dashed": dashed}
        return {"label": label, "emphasis": emphasis, "tooltip": tooltip, **look}

    wrong = _percent(_wrong_share(next(chosen.itertuples())))
    return panels(_side_charts(chosen, style), title=f"Accuracy per epoch with {wrong} wrong labels")


def draw_memorisation(rows: pd.DataFrame) -> str | None:
    """Of each training the value that noisy validation prefers over the last epochs: no early stopping."""
    curves = rows["values"].map(parse_curves)
    rows = rows[(rows["failure"] == "") & (curves.map(len) == 3)]
    if rows.empty:
        return None
    rows = rows.assign(
        training=rows["hyper"].str.partition("=")[0],
        end=[np.mean(curves[at][2][-SMOOTHED:]) for at in rows.index],
    )
    order = [hyper for hyper in TRAININGS if (rows["training"] == hyper).any()]
    chosen = rows.loc[rows.groupby("training")["end"].idxmax()[order]]

    def style(row: Any) -> dict[str, Any]:
        name, look = TRAININGS[row.training]
        value = f", {row.hyper.replace('_', ' ')}" if row.hyper else ""
        emphasis = "chosen" if name.startswith("LIMIT") else "baseline"
        return {"label": name, "emphasis": emphasis, "tooltip": name + value, **look}

    return panels(_side_charts(chosen, style), title="Memorisation of noisy labels, per epoch")


def draw_beta_sweep(rows: pd.DataFrame) -> str | None:
    """LIMIT-G and LIMIT-L: the darker a line, the larger β."""
    if rows.empty:
        return None
    rows = rows.assign(beta=rows["hyper"].str.removeprefix("beta=").astype(float)).sort_values("beta")
    highest = max(max(parse_curves(text)[1]) for text in rows["values"])
    # Accuracies of LIMIT-L differ by hundredths below 100 %: the test axis is stretched there.
    test_axis = {
        "y_span": (0.0, 1 - _round_below(max(1 - highest, 1e-3))),
        "y_format": lambda share: f"{100 * share:.4g}\u00a0%",
        "to_one": True,
    }
    charts = []
    for method, own in rows.groupby("method"):
        betas = own["beta"].tolist()

        def style(row: Any, betas: list[float] = betas) -> dict[str, Any]:
            strength = 0.25 + 0.75 * betas.index(row.beta) / max(len(betas) - 1, 1)
            return {"label": f"β {row.beta:g}", "emphasis": "chosen", "strength": strength}

        top = max(max(parse_curves(text)[0]) for text in own["values"])
        train_axis = {"y_span": (0.0, max(math.ceil(10 * top), 1) / 10)}
        whose = f"{METHODS[str(method)][0]}: "
        charts.append(_side_charts(own, style, whose, train_axis, test_axis))
    sides = [chart for side in zip(*charts, strict=True) for chart in side]
    return panels(sides, title="Accuracy per epoch by β, 80 % wrong labels", columns=len(charts))


def draw_histograms(rows: pd.DataFrame) -> str | None:
    """Right and wrong labels of the best run, on a logarithmic axis: nine of ten may be in one bin."""
    one = best(rows)
    if one.empty:
        return None
    edges = np.linspace(*SPAN, BINS + 1)
    kinds: tuple[Literal["right", "wrong"], ...] = ("right", "wrong")
    charts = []
    names = ("norm of the predicted gradient", "gap")
    for name, counts in zip(names, parse_histograms(one["values"].iloc[0]), strict=True):
        bars = [
            Bars(f"{kind} labels", np.repeat((edges[:-1] + edges[1:]) / 2, own), kind)
            for kind, own in zip(kinds, counts, strict=True)
        ]
        labels: dict[str, Any] = {"title": name, "x_label": name, "y_label": "training examples"}
        charts.append(histogram(bars, **labels, span=SPAN, bins=BINS, log=True, standalone=True))
    return panels(charts, title="Predicted gradients of examples with right and wrong labels")


def _side_charts(
    rows: pd.DataFrame,
    style: Style,
    whose: str = "",
    train_axis: dict[str, Any] | None = None,
    test_axis: dict[str, Any] | None = None,
) -> list[str]:
    """Charts over epochs of accuracy on noisy training labels and on clean test labels."""
    shown: list[Any] = list(rows.itertuples(index=False))
    right = 1 - _wrong_share(shown[0])
    charts = []
    for number, label, reference, axis in (
        (0, "training accuracy, noisy labels", (right, f"right labels: {_percent(right)}"), train_axis),
        (1, "test accuracy, clean labels", None, test_axis),
    ):
        lines = [Line(points=_smoothed(parse_curves(row.values)[number]), **style(row)) for row in shown]
        title, y_label = f"{whose}{label}, per epoch", f"{whose}{label}"
        labels: dict[str, Any] = {"title": title, "x_label": "epoch", "y_label": y_label}
        charts.append(line_chart(lines, **labels, reference=reference, standalone=True, **(axis or {})))
    return charts


def _smoothed(curve: Sequence[float]) -> list[tuple[float, float | None]]:
    half = SMOOTHED // 2
    around = [curve[max(0, i - half) : i + half + 1] for i in range(len(curve))]
    return [(epoch, sum(part) / len(part)) for epoch, part in enumerate(around, 1)]


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"


def _wrong_share(row: Any) -> float:
    """Share of all labels that are wrong on average."""
    return float(row.p * (PAIR_SHARE if row.noise == "pair" else 1))


def _round_below(value: float) -> float:
    """The greatest of 1, 2 and 5 x 10^k that is not above the value."""
    power = math.floor(math.log10(value))
    return max(x for x in (float(f"{m}e{power + k}") for m in (1, 2, 5) for k in (-1, 0)) if x <= value)
