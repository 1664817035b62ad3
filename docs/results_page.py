"""What docs/results.md shows: its generated blocks and charts, from the files in results/reproduce/.

What was not measured yet is said to be missing, with the time that it needs.
"""

import results_claims
import results_figures
import results_tables
import results_time
from results_numbers import Measured, stored

from noiselimit.reproduce.studies import STUDIES

__all__ = ["blocks", "draw", "stored"]

draw = results_figures.draw


def blocks(measured: Measured) -> dict[str, str]:
    """Name → the text between its markers."""
    return {
        "results-head": results_tables.head_table(measured),
        "results-agreement": results_claims.agreement(measured),
        "results-detection": results_claims.detection(measured),
        **{f"results-{data}": results_tables.study_tables(data, measured) for data in STUDIES},
        "results-chosen": results_claims.chosen_values(measured),
        "results-figures": results_figures.figures(measured),
        "results-left": results_time.left(measured),
        "results-time": results_time.spent(measured),
    }
