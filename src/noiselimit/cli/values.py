"""What people type as option values: one or several, separated by commas."""

import csv

from noiselimit.errors import InputError


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
