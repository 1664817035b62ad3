"""What docs/results.md and docs/results-details.md show, from the files in results/reproduce/.

What was not measured yet is said to be missing, with the time that it needs.
"""

from noiselimit.reproduce.studies import STUDIES
from pages.results import beyond, choice, claims, detection, figures, screens, short, tables, times
from pages.results.numbers import Measured, stored

__all__ = ["blocks", "draw", "stored"]

draw = figures.draw


def blocks(measured: Measured) -> dict[str, str]:
    """Name → the text between its markers."""
    empty = list(times.empty_cells(measured))
    return {
        "results-head": tables.head_table(measured),
        "results-short": short.in_short(measured, empty),
        "results-agreement": claims.agreement(measured),
        "results-beyond": beyond.beyond(measured),
        "results-detection": detection.detection(measured),
        **{f"results-{data}": tables.study_tables(data, measured) for data in STUDIES},
        "results-screens": screens.screens(measured),
        "results-chosen": choice.chosen_values(measured),
        "results-figures": figures.figures(measured),
        "results-left": times.left(measured, empty),
        "results-time": times.spent(measured),
    }
