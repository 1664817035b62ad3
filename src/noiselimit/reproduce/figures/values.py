"""The forms that numbers kept for figures have, by kind: files come from elsewhere, drawing trusts them."""

import math
from collections.abc import Callable, Mapping

ACCURACIES = 10_000
"""Accuracies are whole numbers up to this."""
BINS = 40
"""Of a histogram."""
MOST = 10**8
"""Examples in a histogram: more are no data set, and drawing would take memory for each."""


def check_values(kind: str, text: str) -> None:
    """A ValueError where the text is not as runs of this kind leave it."""
    if kind not in FORMS:
        raise ValueError(f"{kind} is no kind of what is kept for figures")
    FORMS[kind](text)


def _curves(text: str) -> None:
    """'train/test/validation', of as many epochs; the third is newer than the others."""
    parts = [_whole_numbers(part, ACCURACIES) for part in text.split("/")]
    if len(parts) not in (2, 3) or len(set(parts)) > 1 or parts[0] == 0:
        raise ValueError("values are no curves, as in '1000 5000/2000 6000/2000 6000'")


def _histograms(text: str) -> None:
    """Four histograms."""
    if [_whole_numbers(part, MOST // BINS) for part in text.split("/")] != [BINS] * 4:
        raise ValueError(f"values are not four histograms of {BINS} counts, parted by /")


def _suspects(text: str) -> None:
    """'index:given:suggested:gap' of each."""
    parts = [part.split(":") for part in text.split()]
    if not parts or any(len(part) != 4 for part in parts):
        raise ValueError("values are no suspects, as in '17:3:5:1.2' of each")
    for *places, gap in parts:
        _whole_numbers(" ".join(places), MOST)
        if not math.isfinite(float(gap)):
            raise ValueError(f"values have {gap} as a gap")


def _whole_numbers(text: str, largest: int) -> int:
    """How many there are."""
    numbers = text.split()
    for number in numbers:
        if not (number.isascii() and number.isdecimal() and int(number) <= largest):
            raise ValueError(f"values have {number}, and not a whole number from 0 to {largest}")
    return len(numbers)


FORMS: Mapping[str, Callable[[str], None]] = {
    "curves": _curves,
    "histograms": _histograms,
    "suspects": _suspects,
}
"""Kind, which is the name of its file, → what complains of another form; `KEEPERS` write these."""
