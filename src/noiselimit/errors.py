"""Errors and warnings for users: one sentence that names the problem and the remedy."""

import difflib
import math
import re
from collections.abc import Iterable
from typing import Any

LONGEST = 1200
"""Characters of a message; a file may hold any number of them where a name should be."""
NEAR = 0.55
"""Similarity from which a known name is suggested."""
LARGE = 1e9
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """Replace characters that control a terminal, or the direction of text, by �."""
    return _CONTROLS.sub("\ufffd", text)


class InputError(ValueError):
    """Bad input. The command line prints the message and exits with code 2.

    Messages quote files, so control characters are replaced and long messages are shortened.
    """

    def __init__(self, message: str) -> None:
        text = harmless(message)
        if len(text) > LONGEST:
            text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 4 :]}"
        super().__init__(text)


class Notice(UserWarning):
    """Something a user should know; results are not affected."""


def unknown(what: str, given: object, known: Iterable[str], also: str = "") -> InputError:
    """The error for an unknown name; it suggests the closest known one, and `also` another remedy."""
    names = sorted(known)
    spelled = {_normalised(name): name for name in names}
    close = difflib.get_close_matches(_normalised(str(given)), spelled, n=1, cutoff=NEAR)
    remedy = (
        f"did you mean '{spelled[close[0]]}'{also}?" if close else f"choose one of {', '.join(names)}{also}."
    )
    return InputError(f"unknown {what} '{given}': {remedy}")


def _normalised(word: str) -> str:
    return word.lstrip("-").lower().replace("_", "-")


def shown(value: object) -> str:
    """A value as messages quote it: text in quotes, numbers without, even if typed as text."""
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return repr(value)
    return str(value)


def number(
    name: str, value: Any, *, at_least: float, below: float = math.inf, at_most: float = math.inf
) -> float:
    """The value as a float in [at_least, below) and ≤ at_most; otherwise an InputError."""
    limited = below < LARGE  # a larger limit helps nobody who typed a small number
    wanted = f"number ≥ {at_least:g}" + (f" and < {below:g}" if limited else "")
    wanted += f" and ≤ {at_most:g}" if at_most < math.inf else ""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {value!r}: give a {wanted}.") from None
    if not (at_least <= found < below and found <= at_most):  # also for NaN
        kind = "a finite" if found == math.inf else "a" if limited or found < below else "a smaller"
        raise InputError(f"{name} is {found:g}: give {kind} {wanted}.")
    return found + 0.0  # turns −0.0 into 0.0, which a run's hash tells apart


def first_line(error: Exception) -> str:
    """The first line of an error message; a compiler's may fill pages."""
    return (str(error).strip().splitlines() or ["no reason given"])[0]
