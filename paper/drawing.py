"""The figures as SVG, drawn from what runs left in OUT/figures."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image, ImageDraw

from noiselimit.report.charts import (
    FOOT,
    HEIGHT,
    KINDS,
    RIGHT,
    TOP,
    WIDTH,
    Line,
    Scale,
    fano_chart,
    fano_curve,
    frame,
    hover_text,
    legend,
    line_chart,
    plot_start,
    powers,
    svg,
    tag,
    ticks,
)
from paper.rows import best
from paper.tables import NAMES

UNIT = 10_000
"""Curves keep accuracies as whole numbers up to this."""
SMOOTHED = 5
"""Epochs over which a drawn curve is averaged."""
BINS, SPAN = 40, (0.0, 2**0.5)
"""Of histograms."""
PAIR_SHARE = 0.4
"""Of the classes, whose labels pair noise may change."""
LOOKS: dict[str, tuple[float, bool]] = {
    "ce": (1.0, False),
    "mae": (0.5, True),
    "fw": (0.5, False),
    "dmi": (1.0, True),
    "limit-g": (0.5, False),
    "limit-l": (1.0, False),
    "limit-g+init": (0.5, True),
    "limit-l+init": (1.0, True),
}
"""Methods of the learning curves: opacity of the line, and whether it is dashed."""
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
    return [[int(value) / UNIT for value in part.split()] for part in text.split("/")]


def parse_histograms(text: str) -> npt.NDArray[np.int64]:
    """Counts [gradient norm, gap] x [right, wrong labels] x BINS."""
    return np.array([part.split() for part in text.split("/")]).astype(np.int64).reshape(2, 2, BINS)


def parse_suspects(text: str) -> list[tuple[int, int, int]]:
    """Index, given and suggested class of each."""
    parts = [part.split(":") for part in text.split()]
    return [(int(index), int(given), int(suggested)) for index, given, suggested, _ in parts]


def draw_fano(rows: pd.DataFrame) -> str:
    """Fig. 2, which needs no runs: uniform noise with 10 classes."""
    return fano_chart([fano_curve(noise, 10) for noise in ("0.2", "0.4", "0.6", "0.8")], 10)


def draw_learning_curves(rows: pd.DataFrame) -> str | None:
    """For each method, the value with the best noisy validation accuracy."""
    chosen = pd.concat([best(rows[rows["method"] == method]) for method in LOOKS])
    if chosen.empty:
        return None

    def style(row: Any) -> dict[str, Any]:
        label, (strength, dashed) = NAMES[row.method], LOOKS[row.method]
        emphasis = "chosen" if row.method.startswith("limit") else "baseline"
        look = {"emphasis": emphasis, "strength": strength, "dashed": dashed}
        return {"label": label, "tooltip": f"{label} {row.hyper}".strip(), **look}

    wrong = _percent(_wrong_share(next(chosen.itertuples())))
    return panels(_side_charts(chosen, style), title=f"Accuracy per epoch with {wrong} wrong labels")


def draw_memorisation(rows: pd.DataFrame) -> str | None:
    """For each training, the value with the best noisy validation over the last epochs: no early stopping."""
    rows = rows[rows["failure"] == ""]
    if rows.empty:
        return None
    rows = rows.assign(
        training=rows["hyper"].str.partition("=")[0],
        end=[np.mean(parse_curves(text)[-1][-SMOOTHED:]) for text in rows["values"]],
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
    betas = sorted(set(rows["beta"]))

    def style(row: Any) -> dict[str, Any]:
        strength = 0.25 + 0.75 * betas.index(row.beta) / max(len(betas) - 1, 1)
        return {"label": f"β {row.beta:g}", "emphasis": "chosen", "strength": strength}

    charts = [_side_charts(own, style, f"{NAMES[str(name)]}: ") for name, own in rows.groupby("method")]
    sides = [chart for side in zip(*charts, strict=True) for chart in side]
    return panels(sides, title="Accuracy per epoch by β, 80 % wrong labels", columns=len(charts))


def draw_histograms(rows: pd.DataFrame) -> str | None:
    """Right and wrong labels of the best run, on a logarithmic axis: nine of ten may be in one bin."""
    one = best(rows)
    if one.empty:
        return None
    names = ("norm of the predicted gradient", "gap")
    found = zip(names, parse_histograms(one["values"].iloc[0]), strict=True)
    charts = [_histogram(name, counts) for name, counts in found]
    return panels(charts, title="Predicted gradients of examples with right and wrong labels")


def _histogram(name: str, counts: npt.NDArray[np.int64]) -> str:
    """Counts [right, wrong labels] x BINS as outlines over a logarithmic axis."""
    y = Scale(0.5, 1.5 * float(counts.max()), FOOT, TOP + 18, log=True)
    heights = {tick: f"{tick:,.0f}" for tick in powers(1, y.high)}
    x = Scale(*SPAN, plot_start(heights, "training examples"), WIDTH - RIGHT - 8)
    edges = np.linspace(*SPAN, BINS + 1).tolist()
    labels = [f"{kind} labels" for kind in KINDS]
    body = [frame(x, y, heights, ticks(*SPAN, 8), name, "training examples")]
    body += [_outline(kind, own, edges, x, y) for kind, own in zip(KINDS, counts, strict=True)]
    for column in np.flatnonzero(counts.any(0)):  # boxes for the hover texts
        low, high = edges[column], edges[column + 1]
        box = {"x": x(low), "y": float(y.end), "width": x(high) - x(low), "height": y.start - y.end}
        body.append(
            tag("g", hover_text(labels, counts[:, column], low, high), tag("rect", kind="unseen", **box))
        )
    return svg(name, [*body, legend(labels, x.start, "step")], standalone=True)


def _outline(kind: str, counts: npt.NDArray[np.int64], edges: Sequence[float], x: Scale, y: Scale) -> str:
    """Steps along the tops of the bins that are not empty."""
    path = ""
    for filled, columns in groupby(range(len(counts)), key=lambda column: counts[column] > 0):
        if filled:
            own = list(columns)
            tops = "".join(f"V{y(float(counts[i])):.1f}H{x(edges[i + 1]):.1f}" for i in own)
            path += f"M{x(edges[own[0]]):.1f},{y.start:.1f}{tops}V{y.start:.1f}"
    return tag("path", kind=f"step {kind}", d=path)


def panels(charts: Sequence[str], *, title: str, columns: int = 2) -> str:
    """One SVG file of standalone charts, row by row."""
    width, height = WIDTH * min(columns, len(charts)), HEIGHT * -(-len(charts) // columns)
    placed = [
        chart.replace("<svg ", f'<svg x="{WIDTH * (place % columns)}" y="{HEIGHT * (place // columns)}" ', 1)
        for place, chart in enumerate(charts)
    ]
    return svg(title, placed, width=width, height=height).replace(
        'class="chart"', f'width="{width}" height="{height}"', 1
    )


def _side_charts(rows: pd.DataFrame, style: Style, whose: str = "") -> list[str]:
    """Charts over epochs of accuracy on noisy training labels and on clean test labels."""
    shown: list[Any] = list(rows.itertuples(index=False))
    right = 1 - _wrong_share(shown[0])
    charts = []
    for number, label, reference in (
        (0, "training accuracy, noisy labels", (right, f"right labels: {_percent(right)}")),
        (1, "test accuracy, clean labels", None),
    ):
        lines = [Line(points=_smoothed(parse_curves(row.values)[number]), **style(row)) for row in shown]
        title, y_label = f"{whose}{label}, per epoch", f"{whose}{label}"
        chart = line_chart(
            lines, title=title, x_label="epoch", y_label=y_label, reference=reference, standalone=True
        )
        charts.append(chart)
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


SIDE, CAPTION, TITLE = 64, 14, 90
"""Pixels of a sheet: an image's side, the height of its caption, the width of a row's title."""


def draw_sheet(rows: Sequence[tuple[str, Sequence[tuple[npt.NDArray[Any], str]]]]) -> Image.Image:
    """Rows of images [1 or 3, H, W] in [0, 1], with captions below and titles at the left."""
    widest = max(len(images) for _, images in rows)
    canvas = Image.new("RGB", (TITLE + widest * (SIDE + 6), (SIDE + CAPTION + 6) * len(rows)), "white")
    pen = ImageDraw.Draw(canvas)
    for number, (title, images) in enumerate(rows):
        top = number * (SIDE + CAPTION + 6)
        pen.text((4, top + SIDE // 2), title[:14], "black", anchor="lm")
        for column, (image, caption) in enumerate(images):
            left = TITLE + column * (SIDE + 6)
            colours = np.moveaxis(np.broadcast_to(image, (3, *image.shape[1:])), 0, -1)
            pasted = Image.fromarray(np.rint(255 * colours).astype(np.uint8))
            canvas.paste(pasted.resize((SIDE, SIDE), Image.Resampling.BOX), (left, top))
            pen.text((left + SIDE // 2, top + SIDE + 2), caption[:10], "black", anchor="mt")
    return canvas.quantize(64)
