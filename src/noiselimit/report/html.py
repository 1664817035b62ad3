"""Render reports as one HTML page each, without scripts and without network access."""

import base64
import io
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from noiselimit.errors import InputError
from noiselimit.files import atomic_file
from noiselimit.report.charts import Bars, Emphasis, Line, heat_map, histogram, line_chart
from noiselimit.report.content import (
    BASELINE,
    DASH,
    AuditReport,
    Report,
    RunLine,
    Suspect,
    decimal,
    finite,
    legal,
    percent,
    plain,
    run_name,
    symbol,
)

LONGEST_SIDE = 160
PIXELATED_UP_TO = 64
SAME_LEVEL = 0.05
"""Relative difference up to which noise entropies of several runs are drawn as one level."""
ACCURACIES = {
    "test_accuracy": "Test accuracy",
    "validation_accuracy": "Validation accuracy, given labels",
    "train_accuracy": "Training accuracy, given labels",
}


def write_report(path: Path, report: Report | AuditReport) -> None:
    """Write the page atomically."""
    page = render_audit(report) if isinstance(report, AuditReport) else render(report)
    with atomic_file(path) as temporary:
        temporary.write_text(page, "utf-8")


def render(report: Report) -> str:
    """The page about runs. All text from data is escaped."""
    return _fill(
        "report.html",
        report=report,
        table=_table(report.runs),
        curves=_curves(report),
        curve_hint=_curve_hint(report),
        gap=_gap(report),
        suspects=[_card(suspect) for suspect in report.suspects],
        suspect_hint=_suspect_hint(report.suspects),
    )


def render_audit(report: AuditReport) -> str:
    """The page about an audit. All text from data is escaped."""
    bars = [
        Bars(f"not flagged: {report.gaps_kept.size:,}", report.gaps_kept, "right"),
        Bars(f"flagged: {report.gaps_flagged.size:,}", report.gaps_flagged, "wrong"),
    ]
    threshold = (report.threshold, f"threshold {decimal(report.threshold, 2)}")
    return _fill(
        "audit.html",
        report=report,
        matrix=None if report.transition is None else Markup(heat_map(report.transition, report.class_names)),
        wide=len(report.class_names) > 12,
        confusions=[
            (each.given, each.right, f"{each.labels:,.0f}" if each.labels >= 0.5 else "< 1")
            for each in report.confusions
        ],
        gap=_gap_histogram(bars, threshold),
        worst=[_card(suspect) for suspect in report.worst],
        galleries=[(each, [_card(suspect) for suspect in each.suspects]) for each in report.galleries],
        curves=_curves(report),
        curve_hint=_curve_hint(report),
    )


def _fill(template: str, **values: Any) -> str:
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style = Markup(_file("chart.css") + _file("style.css"))
    return legal(environment.get_template(template).render(style=style, **values))


def _file(name: str) -> str:
    return files("noiselimit.report").joinpath(name).read_text("utf-8")


def _card(suspect: Suspect) -> dict[str, Any]:
    image = suspect.image
    return {
        "suspect": suspect,
        "picture": None if image is None else data_uri(image),
        "small": image is not None and max(image.shape[-2:]) <= PIXELATED_UP_TO,
        "gap": decimal(suspect.gap),
    }


def data_uri(image: npt.NDArray[np.generic]) -> str:
    """A picture [H, W], [1, H, W] or [3, H, W] as PNG data URI, at most 160 pixels wide and high.

    Floats in [0, 1] are scaled to 255; other numbers are stretched from their minimum to their maximum.
    """
    picture = Image.fromarray(pixels(image))
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def pixels(image: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """uint8 array [H, W] or [H, W, 3]; NaN is black."""
    array = image[None] if image.ndim == 2 else image
    if array.ndim != 3 or array.shape[0] not in (1, 3) or 0 in array.shape:
        raise InputError(f"a picture has shape {list(image.shape)}: pass [H, W], [1, H, W] or [3, H, W].")
    if array.dtype != np.uint8:
        values = array.astype(np.float64)
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        if low < 0.0 or high > 1.0:
            values = (values - low) / (high - low) if high > low else np.zeros_like(values)
        array = np.rint(255 * np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1.0)).astype(np.uint8)
    return np.ascontiguousarray(array[0] if len(array) == 1 else np.moveaxis(array, 0, -1), np.uint8)


def _table(runs: Sequence[RunLine]) -> dict[str, Any]:
    """Columns and rows; β always has a column, other hyper-parameters and settings if a run has them."""
    names = list(dict.fromkeys(["beta", *(name for run in runs for name in run.hyper)]))
    settings = list(dict.fromkeys(name for run in runs for name in run.settings))
    epochs = any(run.best_epoch is not None for run in runs)
    columns = ["method", *map(symbol, [*names, *settings]), "seed", "test accuracy, chosen epoch"]
    columns += ["test accuracy, last epoch", "wrong labels memorised", "gap ROC AUC"]
    columns += ["chosen epoch"] if epochs else []
    rows = []
    for run in runs:
        cells = [*(plain(run.hyper.get(name)) for name in names)]
        cells += [*(run.settings.get(name, DASH) for name in settings), str(run.seed)]
        cells += [percent(run.test_accuracy), percent(run.last_test_accuracy)]
        cells += [percent(run.memorised_wrong_labels), decimal(run.gap_auc)]
        cells += [plain(run.best_epoch)] if epochs else []
        rows.append({"run": run, "cells": cells})
    hint = "Chosen: the highest accuracy on the given validation labels, some of which may be wrong."
    return {"columns": columns, "rows": rows, "hint": hint if any(run.chosen for run in runs) else ""}


def _gap(report: Report) -> dict[str, Any] | None:
    """The histogram of the gap and the numbers beside it; None if no gap was recorded."""
    groups = [("right labels" if report.gaps_wrong is not None else "examples", report.gaps_right)]
    if report.gaps_wrong is not None:
        groups.append(("wrong labels", report.gaps_wrong))
    known = [(name, gaps[np.isfinite(gaps)]) for name, gaps in groups]
    if not sum(gaps.size for _, gaps in known):
        return None
    chosen = [run for run in report.runs if run.chosen]
    bars = [
        Bars(f"{name}: {gaps.size:,}", gaps, "wrong" if place else "right")
        for place, (name, gaps) in enumerate(known)
    ]
    facts = [("run", run_name(chosen[0], seed=True))] if chosen else []
    facts += [
        (f"median gap, {name}", decimal(float(np.median(gaps)) if gaps.size else None, 2))
        for name, gaps in known
    ]
    if chosen and finite(chosen[0].gap_auc) is not None:
        facts.append(("ROC AUC", decimal(chosen[0].gap_auc)))
    return {"svg": _gap_histogram(bars), "facts": facts}


def _gap_histogram(bars: Sequence[Bars], threshold: tuple[float, str] | None = None) -> Markup:
    title = "Histogram of the gap"
    return Markup(
        histogram(
            bars, title=title, x_label="gap", y_label="examples", span=(0.0, 2**0.5), threshold=threshold
        )
    )


def _suspect_hint(suspects: Sequence[Suspect]) -> str:
    hint = f"Training and validation examples with the largest gap: {len(suspects)}."
    known = [suspect for suspect in suspects if suspect.clean is not None]
    if known:
        wrong = sum(suspect.given != suspect.clean for suspect in known)
        found = sum(suspect.suggested == suspect.clean for suspect in known)
        hint += f" Wrong given labels: {wrong} of {len(known)}. Right suggestions: {found} of {len(known)}."
    return hint


def _curves(report: Report | AuditReport) -> list[tuple[str, Markup]]:
    """Heading and chart of the accuracies and, if known, of the memorised bits."""
    charts = [*learning_curves(report), *memorisation_curve(report)]
    return [(heading, Markup(svg)) for heading, svg in charts]


def learning_curves(report: Report | AuditReport) -> list[tuple[str, str]]:
    """Heading and chart of test accuracy (validation accuracy if unknown) and of training accuracy."""
    keys = [key for key in ACCURACIES if any(_values(run, key) for run in report.runs)]
    if "test_accuracy" in keys:
        keys = [key for key in keys if key != "validation_accuracy"]
    if not keys:
        return []
    lowest = min(value for key in keys for run in report.runs for value in _values(run, key))
    step = 0.2 if lowest < 0.5 else 0.1
    span = (min(max(step * float(np.floor(lowest / step + 1e-9)), 0.0), 0.9), 1.0)
    share = finite(report.wrong_share)
    charts = []
    for key in keys:
        reference = None
        if key == "train_accuracy" and share:
            reference = (1 - share, f"right labels: {percent(1 - share, 0)}")
        heading = ACCURACIES[key]
        if key == "test_accuracy" and report.clean_test:
            heading += ", clean labels"
        lines = [_line(run, key) for run in report.runs]
        title = f"{heading}, per epoch"
        chart = line_chart(lines, title=title, x_label="epoch", y_label="", y_span=span, reference=reference)
        charts.append((heading, chart))
    return charts


def memorisation_curve(report: Report | AuditReport) -> list[tuple[str, str]]:
    """Heading and chart of the memorised bits per label; empty if they are unknown."""
    if not any(_values(run, "memorised_bits") for run in report.runs):
        return []
    entropies = [value for run in report.runs for value in _values(run, "noise_entropy")]
    most = max(entropies)
    # A known noise gives one level; an estimate changes from epoch to epoch.
    level = most - min(entropies) < SAME_LEVEL * most
    estimated = any(len(set(_values(run, "noise_entropy"))) > 1 for run in report.runs)
    heading = f"Memorised bits per label, {'estimated' if estimated else 'at least'}"
    chart = line_chart(
        [_line(run, "memorised_bits") for run in report.runs],
        title=f"{heading}, per epoch",
        x_label="epoch",
        y_label="",
        y_span=(0.0, max(1.05 * most, 0.1)),
        y_format=lambda value: f"{value:.3g}",
        reference=(most, f"all there is: {most:.2f}") if level else None,
    )
    return [(heading, chart)]


def _curve_hint(report: Report | AuditReport) -> str:
    """How to read the curves."""
    runs, parts = report.runs, []
    if finite(report.wrong_share) and any(_values(run, "train_accuracy") for run in runs):
        parts.append("Training accuracy above the share of right labels is memorisation.")
    if any(_values(run, "memorised_bits") for run in runs):
        parts.append("The bits follow from the training error, if these runs are typical.")
    if any(run.chosen and run.best_epoch is not None for run in runs):
        parts.append("The dot is the chosen epoch.")
    if any(_emphasis(run) == "faint" for run in runs):
        parts.append("Faint lines are the other runs; point at one for its name.")
    return " ".join(parts)


def _line(run: RunLine, key: str) -> Line:
    points = [(epoch, row.get(key)) for row in run.history if (epoch := finite(row.get("epoch"))) is not None]
    emphasis = _emphasis(run)
    mark = run.best_epoch if emphasis == "chosen" else None
    label = ", ".join([run_name(replace(run, settings={})), *run.settings.values()])
    return Line(label, points, emphasis, run_name(run, seed=True), mark)


def _emphasis(run: RunLine) -> Emphasis:
    if run.chosen:
        return "chosen"
    return "baseline" if run.method == BASELINE else "faint"


def _values(run: RunLine, key: str) -> list[float]:
    return [value for row in run.history if (value := finite(row.get(key))) is not None]
