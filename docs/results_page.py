"""What docs/results.md and docs/results-details.md show, from the files in results/reproduce/.

What was not measured yet is said to be missing, with the time that it needs.
"""

import results_beyond
import results_choice
import results_claims
import results_detection
import results_figures
import results_screens
import results_short
import results_tables
import results_time
from results_numbers import Measured, stored

from noiselimit.reproduce.studies import STUDIES

__all__ = ["blocks", "draw", "stored"]

draw = results_figures.draw


def blocks(measured: Measured) -> dict[str, str]:
    """Name → the text between its markers."""
    empty = list(results_time.empty_cells(measured))
    return {
        "results-head": results_tables.head_table(measured),
        "results-short": results_short.in_short(measured, empty),
        "results-agreement": results_claims.agreement(measured),
        "results-beyond": results_beyond.beyond(measured),
        "results-detection": results_detection.detection(measured),
        **{f"results-{data}": results_tables.study_tables(data, measured) for data in STUDIES},
        "results-screens": results_screens.screens(measured),
        "results-chosen": results_choice.chosen_values(measured),
        "results-figures": results_figures.figures(measured),
        "results-left": results_time.left(measured, empty),
        "results-time": results_time.spent(measured),
    }
