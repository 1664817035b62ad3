"""What a user did wrong, said in one sentence that names the thing and the remedy."""

import difflib
import math
import re
from collections.abc import Iterable
from typing import Any

LONGEST = 1200
"""Characters of a message; a file may hold any number of them where a name should be."""
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """The text with what could steer a terminal, or turn the order of letters, replaced by �."""
    return _CONTROLS.sub("\ufffd", text)


class InputError(ValueError):
    """Bad input. The command line prints the message and exits with code 2.

    Messages quote files: what could steer a terminal shows as �, and what is too long is cut in the middle.
    """

    def __init__(self, message: str) -> None:
        text = harmless(message)
        if len(text) > LONGEST:
            text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 4 :]}"
        super().__init__(text)


class Notice(UserWarning):
    """What a user should know about how something is done; results are the same. One sentence."""


NEAR = 0.55
"""How much of a word and what was meant must be the same: half of 'bogus' and 'out' is."""


def unknown(what: str, given: object, known: Iterable[str]) -> InputError:
    """The error for a name that is not among the known ones; one that is spelled nearly so is suggested."""
    names = sorted(known)
    spelled = {_bare(name): name for name in names}
    close = difflib.get_close_matches(_bare(str(given)), spelled, n=1, cutoff=NEAR)
    remedy = f"did you mean '{spelled[close[0]]}'?" if close else f"choose one of {', '.join(names)}."
    return InputError(f"unknown {what} '{given}': {remedy}")


def _bare(word: str) -> str:
    """Without the dashes that all options have in common."""
    return word.lstrip("-").lower().replace("_", "-")


def number(
    name: str, value: Any, *, at_least: float, below: float = math.inf, at_most: float = math.inf
) -> float:
    """The value as a float in [at_least, below) and ≤ at_most, or an error that says what to give."""
    wanted = f"number ≥ {at_least:g}" + (f" and < {below:g}" if below < math.inf else "")
    wanted += f" and ≤ {at_most:g}" if at_most < math.inf else ""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {value!r}: give a {wanted}.") from None
    if not (at_least <= found < below and found <= at_most):  # false for NaN too
        kind = "a finite" if found == math.inf else "a"
        raise InputError(f"{name} is {found:g}: give {kind} {wanted}.")
    return found + 0.0  # no negative zero: a run's hash covers the spelling
