"""What a user did wrong, said in one sentence that names the thing and the remedy."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Bad input. The command line prints the message and exits with code 2."""


def unknown(what: str, given: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not among the known ones, with the nearest one suggested."""
    names = sorted(known)
    close = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    remedy = f"did you mean '{close[0]}'?" if close else f"choose one of {', '.join(names)}."
    return InputError(f"unknown {what} '{given}': {remedy}")
