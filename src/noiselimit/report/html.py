"""The report as one HTML page that needs no network and no script."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
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
from noiselimit.report.charts import Bars, all_curves, curve_hint, heat_map, histogram
from noiselimit.report.content import (
    DASH,
    AuditReport,
    Report,
    RunLine,
    Suspect,
    decimal,
    known,
    legal,
    percent,
    plain,
    run_name,
    shorten,
    symbol,
)

GAP_SPAN = (0.0, 2**0.5)


def fill(template: str, **values: Any) -> str:
    """The page of a template of this folder: what is not Markup is escaped, the style sheets are added."""
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,  # of the parts that a template includes
    )
    style = Markup(_file("chart.css") + _file("style.css"))
    return legal(environment.get_template(template).render(style=style, **values))


def _file(name: str) -> str:
    return files("noiselimit.report").joinpath(name).read_text("utf-8")


_LONGEST_SIDE = 160


def data_uri(image: npt.NDArray[np.generic]) -> str:
    """PNG data URI of a picture [H, W] or [C, H, W], C being 1 (grey) or 3 (red, green, blue).

    uint8 is taken as it is. Floats in [0, 1] are multiplied by 255; other numbers, such as normalised
    inputs, are stretched from their least to their greatest. NaN is black. Pictures with a side longer
    than 160 pixels are reduced; small ones keep their pixels, and the style sheet enlarges them.
    """
    picture = Image.fromarray(pixels(image))
    picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def pixels(image: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """uint8 array [H, W] or [H, W, 3]."""
    array = image[None] if image.ndim == 2 else image
    if array.ndim != 3 or array.shape[0] not in (1, 3) or 0 in array.shape:
        raise InputError(f"a picture has shape {list(image.shape)}: pass [H, W], [1, H, W] or [3, H, W].")
    values = array if array.dtype == np.uint8 else _to_bytes(array.astype(np.float64))
    grey_or_colour = values[0] if values.shape[0] == 1 else np.moveaxis(values, 0, -1)
    return np.ascontiguousarray(grey_or_colour, dtype=np.uint8)


def _to_bytes(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low < 0.0 or high > 1.0:
        values = (values - low) / (high - low) if high > low else np.zeros_like(values)
    return np.rint(255 * np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1.0)).astype(np.uint8)


_PIXELATED_UP_TO = 64
_LONGEST_VALUES = 160


@dataclass(frozen=True)
class Card:
    """What the template needs to show a suspect."""

    suspect: Suspect
    picture: str | None
    small: bool
    values: str
    gap: str


def card(suspect: Suspect) -> Card:
    """The suspect ready to be shown."""
    image = suspect.image
    return Card(
        suspect,
        None if image is None else data_uri(image),
        image is not None and max(image.shape[-2:]) <= _PIXELATED_UP_TO,
        shorten(suspect.values or "", _LONGEST_VALUES),
        decimal(suspect.gap),
    )


def render_audit(report: AuditReport) -> str:
    """The page. Every text that came from data is escaped; the same report gives the same page."""
    training = Report("", "", runs=report.runs, clean_test=report.clean_test, wrong_share=report.wrong_share)
    return fill(
        "audit.html",
        report=report,
        matrix=None if report.transition is None else Markup(heat_map(report.transition, report.class_names)),
        wide=len(report.class_names) > 12,
        confusions=[(c.given, c.right, _about(c.labels)) for c in report.confusions],
        gap=Markup(_audit_gap(report)),
        worst=[card(suspect) for suspect in report.worst],
        galleries=[
            (gallery, [card(suspect) for suspect in gallery.suspects]) for gallery in report.galleries
        ],
        curves=[(curve.heading, Markup(curve.svg)) for curve in all_curves(training)],
        curve_hint=curve_hint(training),
    )


def _about(labels: float) -> str:
    return f"{labels:,.0f}" if labels >= 0.5 else "< 1"


def _audit_gap(report: AuditReport) -> str:
    bars = [
        Bars(f"not flagged: {report.gaps_kept.size:,}", report.gaps_kept, "right"),
        Bars(f"flagged: {report.gaps_flagged.size:,}", report.gaps_flagged, "wrong"),
    ]
    return histogram(
        bars,
        title="Histogram of the gap",
        x_label="gap",
        y_label="examples",
        span=GAP_SPAN,
        threshold=(report.threshold, f"threshold {decimal(report.threshold, 2)}"),
    )


def write_report(path: Path, report: Report | AuditReport) -> None:
    """Write the page; a reader never sees half of it."""
    page = render_audit(report) if isinstance(report, AuditReport) else render(report)
    with atomic_file(path) as temporary:
        temporary.write_text(page, "utf-8")


def render(report: Report) -> str:
    """The page. Every text that came from data is escaped; the same report gives the same page."""
    return fill(
        "report.html",
        report=report,
        table=_table(report.runs),
        curves=[(curve.heading, Markup(curve.svg)) for curve in all_curves(report)],
        curve_hint=curve_hint(report),
        gap=_gap(report),
        suspects=[card(suspect) for suspect in report.suspects],
        suspect_hint=_suspect_hint(report.suspects),
    )


@dataclass(frozen=True)
class _Row:
    run: RunLine
    cells: list[str]


@dataclass(frozen=True)
class _Table:
    columns: list[str]
    rows: list[_Row]
    hint: str


def _table(runs: Sequence[RunLine]) -> _Table:
    """β always has its column; other hyper-parameters, settings and the chosen epoch if some run has them."""
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
        rows.append(_Row(run, cells))
    hint = "Chosen: the highest accuracy on the given validation labels, which may be wrong themselves."
    return _Table(columns, rows, hint if any(run.chosen for run in runs) else "")


@dataclass(frozen=True)
class _Gap:
    svg: Markup
    facts: list[tuple[str, str]]


def _gap(report: Report) -> _Gap | None:
    """The histogram with the numbers beside it; None if no gap was recorded."""
    groups = [("right labels" if report.gaps_wrong is not None else "examples", report.gaps_right)]
    if report.gaps_wrong is not None:
        groups.append(("wrong labels", report.gaps_wrong))
    finite = [(name, gaps[np.isfinite(gaps)]) for name, gaps in groups]
    if not sum(gaps.size for _, gaps in finite):
        return None
    chosen = [run for run in report.runs if run.chosen]
    whose = f" of {run_name(chosen[0], seed=True)}" if chosen else ""
    svg = histogram(
        [
            Bars(f"{name}: {gaps.size:,}", gaps, "wrong" if place else "right")
            for place, (name, gaps) in enumerate(finite)
        ],
        title=f"Histogram of the gap{whose}",
        x_label="gap",
        y_label="examples",
        span=GAP_SPAN,
    )
    facts = [("run", run_name(chosen[0], seed=True))] if chosen else []
    facts += [(f"median gap, {name}", _median(gaps)) for name, gaps in finite]
    if chosen and known(chosen[0].gap_auc) is not None:
        facts.append(("ROC AUC", decimal(chosen[0].gap_auc)))
    left_out = sum(gaps.size for _, gaps in groups) - sum(gaps.size for _, gaps in finite)
    if left_out:
        facts.append(("without a gap", f"{left_out:,}"))
    return _Gap(Markup(svg), facts)


def _median(gaps: npt.NDArray[np.floating]) -> str:
    return decimal(float(np.median(gaps)) if gaps.size else None, 2)


def _suspect_hint(suspects: Sequence[Suspect]) -> str:
    many = len(suspects)
    text = f"The {many} training and validation examples" if many != 1 else "The example"
    text += " with the largest gap."
    known_ones = [suspect for suspect in suspects if suspect.clean is not None]
    if known_ones:
        wrong = sum(suspect.given != suspect.clean for suspect in known_ones)
        found = sum(suspect.suggested == suspect.clean for suspect in known_ones)
        of = len(known_ones)
        text += f" {wrong} of {of} given labels {_is(wrong)} wrong;"
        text += f" {found} of {of} suggestions {_is(found)} right."
    return text


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
