"""One self-contained HTML page about a set of runs and the wrong labels they found."""

from noiselimit.report.charts import Bars, Line, histogram, line_chart
from noiselimit.report.content import Report, RunLine, Suspect
from noiselimit.report.curves import Curve, learning_curves
from noiselimit.report.html import render, write_report
from noiselimit.report.sentence import result_sentence

__all__ = [
    "Bars",
    "Curve",
    "Line",
    "Report",
    "RunLine",
    "Suspect",
    "histogram",
    "learning_curves",
    "line_chart",
    "render",
    "result_sentence",
    "write_report",
]
