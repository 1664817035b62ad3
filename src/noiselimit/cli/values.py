"""What people type as option values: one or several, separated by commas."""

import csv

from noiselimit.errors import InputError

LARGEST_SEED = 2**63 - 1


def several(name: str, text: str) -> list[str]:
    """'1,10' → ['1', '10']."""
    values = [value.strip() for value in text.split(",")]
    if not all(values):
        raise InputError(f"{name} is '{text}': give a value, or several separated by commas.")
    return values


def columns(name: str, text: str | None) -> tuple[str, ...]:
    """'id,"name, first"' → ('id', 'name, first'): quoted as in a CSV where a column's name has a comma."""
    if text is None:
        return ()
    try:
        found = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        found = []
    if not found or not all(found):
        raise InputError(f"{name} is '{text}': give a column's name, or several separated by commas.")
    return tuple(found)


def whole_numbers(name: str, text: str) -> list[int]:
    """'0,1' → [0, 1]."""
    try:
        return [int(value) for value in several(name, text)]
    except ValueError:
        raise InputError(
            f"{name} is '{text}': give a whole number, or several separated by commas."
        ) from None


def several_seeds(name: str, text: str) -> list[int]:
    """'0,1' → [0, 1], none too large to draw with; who takes them says whether they may be negative."""
    found = whole_numbers(name, text)
    if max(found) > LARGEST_SEED:
        raise InputError(f"{name} is {text}: give whole numbers from 0 to {LARGEST_SEED}.")
    return found


def whole_number(name: str, text: str | None) -> int | None:
    """'15' → 15; None stays."""
    try:
        return None if text is None else int(text)
    except ValueError:
        raise InputError(f"{name} is '{text}': give a whole number.") from None


def any_number(name: str, text: str | None) -> float | None:
    """'2.5' → 2.5; None stays."""
    try:
        return None if text is None else float(text)
    except ValueError:
        raise InputError(f"{name} is '{text}': give a number.") from None
