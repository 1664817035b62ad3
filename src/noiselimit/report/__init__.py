"""One self-contained HTML page about a set of runs and the wrong labels they found."""

from noiselimit.report.charts import Bars, Curve, Line, heat_map, histogram, learning_curves, line_chart
from noiselimit.report.content import (
    AuditReport,
    Confusion,
    Gallery,
    Report,
    RunLine,
    Suspect,
    result_sentence,
)
from noiselimit.report.html import render, render_audit, write_report

__all__ = [
    "AuditReport",
    "Bars",
    "Confusion",
    "Curve",
    "Gallery",
    "Line",
    "Report",
    "RunLine",
    "Suspect",
    "heat_map",
    "histogram",
    "learning_curves",
    "line_chart",
    "render",
    "render_audit",
    "result_sentence",
    "write_report",
]
