"""Where things stand on an axis: a linear or logarithmic scale, round ticks, labels pushed apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A map from the span of the data to a span of pixels (which may run backwards)."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    """Whether equal ratios, not equal differences, are equally far apart; all values are positive then."""
    to_one: bool = False
    """Whether it is ratios of what shares lack of 1 instead: 98 % and 99 % are as far apart as 80 % and 90 %.
    `high` is below 1 then, and shares above it are drawn there."""

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        low, high = self.low, self.high
        if self.to_one:
            low, high, value = 1 - low, 1 - high, 1 - min(value, high)
        if self.log or self.to_one:
            share = math.log(value / low) / math.log(high / low)
        else:
            share = (value - low) / (high - low)
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """At most `most` multiples of 1, 2 or 5 × 10^k in [low, high]; integers only, if `whole`."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high) or most < 1:
        return []
    exponent = math.floor(math.log10((high - low) / most))
    for power in range(exponent, exponent + 3):
        for digit in (1, 2, 5):
            if whole and power < 0:
                continue
            # A division by a power of ten is exact where a product with 0.1 is not.
            up, down = (digit * 10**power, 1) if power >= 0 else (digit, 10**-power)
            slack = 1e-9 * (high - low) * down / up
            first = math.ceil(low * down / up - slack)
            last = math.floor(high * down / up + slack)
            if last - first + 1 <= most:
                return [count * up / down for count in range(first, last + 1)]
    return [math.ceil(low)] if whole and math.ceil(low) <= high else []


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` values of 1, 2 and 5, of 1 and 3, or of 1 × 10^k in [low, high], 0 < low < high."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        # Read from text: a product with a negative power of ten may miss its nearest number.
        marks = [float(f"{digit}e{power}") for power in range(first, last + 1) for digit in digits]
        found = [mark for mark in marks if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]
        if len(found) <= most:
            return found
    return found[:: -(-len(found) // most)]


def round_above(value: float) -> float:
    """The least of 1, 2 and 5 × 10^k that is not below the value, which is positive."""
    return min(mark for mark in _round_numbers(value) if mark >= value)


def round_below(value: float) -> float:
    """The greatest of 1, 2 and 5 × 10^k that is not above the value, which is positive."""
    return max(mark for mark in _round_numbers(value) if mark <= value)


def _round_numbers(value: float) -> list[float]:
    """Some on both sides of the value."""
    power = math.floor(math.log10(value))
    return [float(f"{digit}e{exponent}") for exponent in range(power - 1, power + 2) for digit in (1, 2, 5)]


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The positions moved as little as need be to stand `gap` apart inside [low, high], in the same order.

    Where they cannot all fit they are spaced evenly from low to high.
    """
    count = len(positions)
    if count > 1 and (count - 1) * gap >= high - low:
        gap = (high - low) / (count - 1)
    order = sorted(range(count), key=lambda i: positions[i])
    moved = [0.0] * count
    floor = low
    for i in order:
        moved[i] = max(positions[i], floor)
        floor = moved[i] + gap
    ceiling = high
    for i in reversed(order):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - gap
    return moved
