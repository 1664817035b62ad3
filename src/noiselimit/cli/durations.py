"""How long something will take, told no more exactly than it is known."""

NONE = "–"


def duration(seconds: float | None, *, scaled: bool = False) -> str:
    """In the largest unit of which there is one, to two digits; `scaled` from something else: '~' and one."""
    if seconds is None:
        return NONE
    if not seconds:
        return "0"
    for unit, length in (("h", 3600), ("min", 60), ("s", 1)):
        if seconds >= length:
            rounded = float(f"{seconds / length:.{0 if scaled else 1}e}")
            places = 1 if rounded < 10 and unit != "s" and not scaled else 0
            return f"{'~' if scaled else ''}{rounded:,.{places}f} {unit}"
    return "< 1 s"


def scaled_words(*networks: str) -> str:
    """What '~' stands for, below a table."""
    return (
        f"~: scaled by the number of operations from {' or '.join(networks)}, since the bench did not time "
        "the network itself: an order of magnitude, no more."
    )
