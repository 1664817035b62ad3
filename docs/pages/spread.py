"""Mean ± standard deviation, as the documents write it."""

from collections.abc import Sequence
from statistics import fmean, stdev


def spread_text(values: Sequence[float], digits: int = 1) -> str:
    """'97.4 ± 0.6'; of one value itself."""
    mean = f"{fmean(values):.{digits}f}"
    return f"{mean} ± {stdev(values):.{digits}f}" if len(values) > 1 else mean
