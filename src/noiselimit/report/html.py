"""The report as one HTML page that needs no network and no script."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from noiselimit.files import atomic_file
from noiselimit.report.audit_content import AuditReport
from noiselimit.report.audit_html import render_audit
from noiselimit.report.cards import card
from noiselimit.report.content import Report, RunLine, Suspect
from noiselimit.report.curves import all_curves, curve_hint
from noiselimit.report.histogram import Bars, histogram
from noiselimit.report.pages import GAP_SPAN, fill
from noiselimit.report.wording import DASH, decimal, known, percent, plain, run_name, symbol


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
