"""One self-contained HTML page about a set of runs and the wrong labels they found."""

from noiselimit.report.audit_content import AuditReport, Confusion, Gallery
from noiselimit.report.audit_html import render_audit
from noiselimit.report.charts import Line, line_chart
from noiselimit.report.content import Report, RunLine, Suspect
from noiselimit.report.curves import Curve, learning_curves
from noiselimit.report.heat_map import heat_map
from noiselimit.report.histogram import Bars, histogram
from noiselimit.report.html import render, write_report
from noiselimit.report.sentence import result_sentence

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
