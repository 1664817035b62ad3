"""Render reports as one HTML page each, without scripts and without network access."""

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from noiselimit.files import atomic_file
from noiselimit.report.charts import Emphasis, Line, heat_map, histogram, line_chart
from noiselimit.report.content import (
    BASELINE,
    LONG_CELL,
    AuditReport,
    Report,
    RunLine,
    Suspect,
    decimal,
    finite,
    legal,
    likelihood,
    percent,
    plain,
    run_name,
    symbol,
)

LONGEST_SIDE = 160
SMALL = 64
"""Images up to this side are stored exactly, and shown with square pixels."""
JPEG_QUALITY = 80
MOST_BYTES = 12_000_000
"""Size of the images of a page, so that it can be sent by mail and opens quickly."""
FLAT = 0.02
"""Share of a chart's height below which a line is flat."""
SAME_LEVEL = 0.05
"""Relative difference up to which noise entropies of several runs are drawn as one level."""
FILTER = ".flagged:has(#pair-{0}:checked) .suspects > li:not(.pair-{0}) {{ display: none; }}\n"
"""Shows the cards of one class pair only: the page has no script."""
ACCURACIES = {
    "test_accuracy": "Test accuracy",
    "validation_accuracy": "Validation accuracy, given labels",
    "train_accuracy": "Training accuracy, given labels",
}


def write_report(path: Path, report: Report) -> None:
    """Write the page atomically."""
    page = render(report)
    with atomic_file(path) as temporary:
        temporary.write_text(page, "utf-8")


def render(report: Report) -> str:
    """The page about runs or an audit. All text from data is escaped."""
    curves = [*learning_curves(report), *memorisation_curve(report)]
    values: dict[str, Any] = {
        "report": report,
        "style": Markup(_file("chart.css") + _file("style.css")),
        "curves": [(heading, Markup(svg)) for heading, svg in curves],
        "curve_hint": _curve_hint(report),
        "gap": Markup(_score_histogram(report)),
        "cards": list(_cards(report.suspects)),
        "long_cell": LONG_CELL,
    }
    if isinstance(report, AuditReport):
        shares = report.transition
        values["matrix"] = None if shares is None else Markup(heat_map(shares, report.class_names))
        values["left_out"] = max(report.flags - len(values["cards"]), 0)
        values["style"] += Markup("".join(map(FILTER.format, range(len(report.pairs)))))
    else:
        names = (name for line in report.runs for name in line.run.spec.hyper)
        values["hyper"] = list(dict.fromkeys(["beta", *names]))  # β always has a column
        values["settings"] = list(report.runs[0].settings) if report.runs else []
        values["gap_facts"] = _gap_facts(report)
        values["suspect_hint"] = _suspect_hint(report.suspects)
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {each.__name__: each for each in (decimal, likelihood, percent, plain, symbol)}
    template = "audit.html" if isinstance(report, AuditReport) else "report.html"
    return legal(environment.get_template(template).render(values))


def _file(name: str) -> str:
    return files("noiselimit.report").joinpath(name).read_text("utf-8")


def _cards(suspects: Sequence[Suspect]) -> Iterator[tuple[Suspect, str]]:
    """Suspects with their images as data URIs, as many as a page should hold."""
    size = 0
    for suspect in suspects:
        uri = "" if suspect.image is None else data_uri(suspect.image)
        size += len(uri)
        if size > MOST_BYTES:
            break
        yield suspect, uri


def data_uri(image: npt.NDArray[np.generic]) -> str:
    """An image [1 or 3, H, W] as data URI, at most 160 pixels wide and high: small ones PNG, others JPEG."""
    pixels = thumbnail(image)
    encoded = Image.fromarray(pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1).copy())
    buffer, kind = io.BytesIO(), "png" if max(image.shape[1:]) <= SMALL else "jpeg"
    encoded.save(buffer, format=kind, optimize=True, quality=JPEG_QUALITY)
    return f"data:image/{kind};base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def thumbnail(image: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """An image [1 or 3, H, W] as bytes, at most 160 pixels wide and high.

    Floats in [0, 1] are scaled to 255; other numbers are stretched from their minimum to their maximum.
    """
    values = image[0] if len(image) == 1 else np.moveaxis(image, 0, -1)
    if values.dtype != np.uint8:
        values = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0)
        low, high = values.min(), values.max()
        if low < 0.0 or high > 1.0:
            values = (values - low) / ((high - low) or 1.0)
        values = np.rint(255 * values).astype(np.uint8)
    small = Image.fromarray(np.ascontiguousarray(values))
    small.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    pixels = np.asarray(small)
    return pixels[np.newaxis] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)


def _gap_facts(report: Report) -> list[tuple[str, str]]:
    """The numbers beside the histogram of the gap."""
    chosen = [line for line in report.runs if line.chosen][:1]
    medians = [
        (f"median gap, {name}", decimal(float(np.median(gaps)) if gaps.size else None, 2))
        for name, gaps in report.scores.items()
    ]
    auc = finite(chosen[0].run.metrics["gap_auc"]) if chosen else None
    return [
        *(("run", run_name(line, seed=True)) for line in chosen),
        *medians,
        *([] if auc is None else [("ROC AUC", decimal(auc))]),
    ]


def _score_histogram(report: Report) -> str:
    """The histogram of the gap, or of the probability of being wrong; empty if there is none."""
    if not any(scores.size for scores in report.scores.values()):
        return ""
    audited, threshold = isinstance(report, AuditReport), None
    if isinstance(report, AuditReport) and report.threshold is not None:
        threshold = (report.threshold, f"flagged from {decimal(report.threshold, 2)}")
    score = "probability of being wrong" if audited else "gap"
    return histogram(
        {f"{name}: {scores.size:,}": scores for name, scores in report.scores.items()},
        title=f"Histogram of the {score}",
        x_label=score,
        y_label="examples",
        span=(0.0, 1.0 if audited else 2**0.5),
        threshold=threshold,
    )


def _suspect_hint(suspects: Sequence[Suspect]) -> str:
    hint = f"Training and validation examples with the largest gap: {len(suspects)}."
    known = [suspect for suspect in suspects if suspect.clean is not None]
    if known:
        wrong = sum(suspect.given != suspect.clean for suspect in known)
        found = sum(suspect.suggested == suspect.clean for suspect in known)
        hint += f" Wrong given labels: {wrong} of {len(known)}. Right suggestions: {found} of {len(known)}."
    return hint


def learning_curves(report: Report) -> list[tuple[str, str]]:
    """Heading and chart of test accuracy (validation accuracy if unknown) and of training accuracy."""
    values = {key: [value for line in report.runs for value in _values(line, key)] for key in ACCURACIES}
    if values["test_accuracy"]:
        values["validation_accuracy"] = []
    lowest = min((value for found in values.values() for value in found), default=1.0)
    step = 0.2 if lowest < 0.5 else 0.1
    span = (min(max(step * float(np.floor(lowest / step + 1e-9)), 0.0), 0.9), 1.0)
    right = 1 - (finite(report.wrong_share) or 0)
    charts = []
    for key, heading in ACCURACIES.items():
        if values[key]:
            known = right < 1 and key == "train_accuracy"
            reference = (right, f"right labels: {percent(right, 0)}") if known else None
            heading += ", clean labels" if key == "test_accuracy" and report.clean_test else ""
            charts.append((heading, _curves(report, key, heading, y_span=span, reference=reference)))
    return charts


def memorisation_curve(report: Report) -> list[tuple[str, str]]:
    """Heading and chart of the memorised bits per label; empty if they are unknown, or flat in an audit."""
    if not any(_values(line, "memorised_bits") for line in report.runs):
        return []
    entropies = [value for line in report.runs for value in _values(line, "noise_entropy")]
    most = max(entropies)
    bits = [value for line in report.runs for value in _values(line, "memorised_bits")]
    if isinstance(report, AuditReport) and max(bits) - min(bits) < FLAT * most:
        return []
    # A known noise gives one level; an estimate changes from epoch to epoch.
    level = most - min(entropies) < SAME_LEVEL * most
    estimated = any(len(set(_values(line, "noise_entropy"))) > 1 for line in report.runs)
    heading = f"Memorised bits per label, {'estimated' if estimated else 'at least'}"
    chart = _curves(
        report,
        "memorised_bits",
        heading,
        y_span=(0.0, max(1.05 * most, 0.1)),
        y_format=lambda value: f"{value:.3g}",
        reference=(most, f"all there is: {most:.2f}") if level else None,
    )
    return [(heading, chart)]


def _curve_hint(report: Report) -> str:
    """How to read the curves."""
    runs, shares = report.runs, bool(finite(report.wrong_share))
    hints = {
        "Training accuracy above the share of right labels is memorisation.": shares
        and any(_values(line, "train_accuracy") for line in runs),
        "The bits follow from the training error, if these runs are typical.": any(
            _values(line, "memorised_bits") for line in runs
        ),
        "The dot is the chosen epoch.": _marks_epochs(report) and any(line.chosen for line in runs),
        "Faint lines are the other runs; point at one for its name.": any(
            _emphasis(line) == "faint" for line in runs
        ),
    }
    return " ".join(hint for hint, applies in hints.items() if applies)


def _curves(report: Report, key: str, heading: str, **options: Any) -> str:
    """A line per run, with a dot at the best epoch of those chosen."""
    lines = []
    for line in report.runs:
        points = [(row["epoch"], row.get(key)) for row in line.run.history]
        dot = line.run.metrics["best_epoch"] if _marks_epochs(report) and line.chosen else None
        label = ", ".join([run_name(replace(line, settings={})), *line.settings.values()])
        lines.append(Line(label, points, _emphasis(line), run_name(line, seed=True), dot))
    return line_chart(lines, title=f"{heading}, per epoch", x_label="epoch", y_label="", **options)


def _marks_epochs(report: Report) -> bool:
    """Not for audits, whose probabilities are means over epochs."""
    return not isinstance(report, AuditReport)


def _emphasis(line: RunLine) -> Emphasis:
    if line.chosen:
        return "chosen"
    return "baseline" if line.run.spec.method == BASELINE else "faint"


def _values(line: RunLine, key: str) -> list[float]:
    return [value for row in line.run.history if (value := finite(row.get(key))) is not None]
