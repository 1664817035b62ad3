"""The report of an audit as one HTML page."""

from markupsafe import Markup

from noiselimit.report.audit_content import AuditReport
from noiselimit.report.cards import card
from noiselimit.report.content import Report
from noiselimit.report.curves import all_curves, curve_hint
from noiselimit.report.heat_map import heat_map
from noiselimit.report.histogram import Bars, histogram
from noiselimit.report.pages import GAP_SPAN, fill
from noiselimit.report.wording import decimal


def render_audit(report: AuditReport) -> str:
    """The page. Every text that came from data is escaped; the same report gives the same page."""
    training = Report("", "", runs=report.runs, clean_test=report.clean_test, wrong_share=report.wrong_share)
    return fill(
        "audit.html",
        report=report,
        matrix=None if report.transition is None else Markup(heat_map(report.transition, report.class_names)),
        wide=len(report.class_names) > 12,
        confusions=[(c.given, c.right, _about(c.labels)) for c in report.confusions],
        gap=Markup(_gap(report)),
        worst=[card(suspect) for suspect in report.worst],
        galleries=[
            (gallery, [card(suspect) for suspect in gallery.suspects]) for gallery in report.galleries
        ],
        curves=[(curve.heading, Markup(curve.svg)) for curve in all_curves(training)],
        curve_hint=curve_hint(training),
    )


def _about(labels: float) -> str:
    return f"{labels:,.0f}" if labels >= 0.5 else "< 1"


def _gap(report: AuditReport) -> str:
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
