"""What people type as option values: one or several, separated by commas."""

from noiselimit.errors import InputError


def several(name: str, text: str) -> list[str]:
    """'1,10' → ['1', '10']."""
    values = [value.strip() for value in text.split(",")]
    if not all(values):
        raise InputError(f"{name} is '{text}': give a value, or several separated by commas.")
    return values


def whole_numbers(name: str, text: str) -> list[int]:
    """'0,1' → [0, 1]."""
    try:
        return [int(value) for value in several(name, text)]
    except ValueError:
        raise InputError(
            f"{name} is '{text}': give a whole number, or several separated by commas."
        ) from None
