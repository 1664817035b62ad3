"""Learning curves: the chosen run and cross-entropy stand out, the others stay faint."""

from dataclasses import dataclass, replace

import numpy as np

from noiselimit.report.charts import Emphasis, Line, line_chart
from noiselimit.report.content import BASELINE, Report, RunLine
from noiselimit.report.wording import known, percent, run_name

_CURVES = {
    "test_accuracy": "Test accuracy",
    "validation_accuracy": "Validation accuracy, given labels",
    "train_accuracy": "Training accuracy, given labels",
}


LEVEL = 0.05
"""Seeds split the data differently, so the entropy of one noise differs a little from run to run."""


@dataclass(frozen=True)
class Curve:
    """A heading and the chart below it."""

    heading: str
    svg: str


def all_curves(report: Report) -> list[Curve]:
    """The learning curves and, where it is known, the memorisation beside them."""
    memorised = memorisation_curve(report)
    return [*learning_curves(report), *([] if memorised is None else [memorised])]


def learning_curves(report: Report, *, standalone: bool = False) -> list[Curve]:
    """Test (or, where that is unknown, validation) and training accuracy, both on the same vertical scale."""
    known_keys = [key for key in _CURVES if any(_values(run, key) for run in report.runs)]
    if "test_accuracy" in known_keys:
        known_keys = [key for key in known_keys if key != "validation_accuracy"]
    if not known_keys:
        return []
    lowest = min(value for key in known_keys for run in report.runs for value in _values(run, key))
    step = 0.2 if lowest < 0.5 else 0.1
    span = (min(max(step * float(np.floor(lowest / step + 1e-9)), 0.0), 0.9), 1.0)
    share = known(report.wrong_share)
    curves: list[Curve] = []
    for key in known_keys:
        reference = None
        if key == "train_accuracy" and share:
            reference = (1 - share, f"right labels: {percent(1 - share, 0)}")
        heading = _CURVES[key]
        if key == "test_accuracy" and report.clean_test:
            heading += ", clean labels"
        svg = line_chart(
            [_line(run, key) for run in report.runs],
            title=f"{heading}, per epoch",
            x_label="epoch",
            y_label="",
            y_span=span,
            reference=reference,
            standalone=standalone,
        )
        curves.append(Curve(heading, svg))
    return curves


def memorisation_curve(report: Report, *, standalone: bool = False) -> Curve | None:
    """Bits per label that the training error implies, if the runs are typical; None where nobody knows."""
    bits = [value for run in report.runs for value in _values(run, "memorised_bits")]
    if not bits:
        return None
    entropies = [value for run in report.runs for value in _values(run, "noise_entropy")]
    most = max(entropies)
    # One level where the noise is known; an estimate changes from epoch to epoch and has none.
    reference = (most, f"all there is: {most:.2f}") if most - min(entropies) < LEVEL * most else None
    estimated = any(len(set(_values(run, "noise_entropy"))) > 1 for run in report.runs)
    heading = f"Memorised bits per label, {'estimated' if estimated else 'at least'}"
    svg = line_chart(
        [_line(run, "memorised_bits") for run in report.runs],
        title=f"{heading}, per epoch",
        x_label="epoch",
        y_label="",
        y_span=(0.0, max(1.05 * most, 0.1)),
        y_format=lambda value: f"{value:.3g}",
        reference=reference,
        standalone=standalone,
    )
    return Curve(heading, svg)


def curve_hint(report: Report) -> str:
    """How to read the curves."""
    runs, parts = report.runs, []
    if known(report.wrong_share) and any(_values(run, "train_accuracy") for run in runs):
        parts.append("Training accuracy above the share of right labels is memorising.")
    if any(_values(run, "memorised_bits") for run in runs):
        parts.append("The bits are what the training error implies, if these runs are typical.")
    if any(run.chosen and run.best_epoch is not None for run in runs):
        parts.append("The dot is the chosen epoch.")
    if any(_emphasis(run) == "faint" for run in runs):
        parts.append("Faint lines are the other runs; point at one for its name.")
    return " ".join(parts)


def _line(run: RunLine, key: str) -> Line:
    points = [(epoch, row.get(key)) for row in run.history if (epoch := known(row.get("epoch"))) is not None]
    emphasis = _emphasis(run)
    mark = run.best_epoch if emphasis == "chosen" else None
    label = ", ".join([run_name(replace(run, settings={})), *run.settings.values()])  # short: values only
    return Line(label, points, emphasis, run_name(run, seed=True), mark)


def _emphasis(run: RunLine) -> Emphasis:
    if run.chosen:
        return "chosen"
    return "baseline" if run.method == BASELINE else "faint"


def _values(run: RunLine, key: str) -> list[float]:
    return [value for row in run.history if (value := known(row.get(key))) is not None]
