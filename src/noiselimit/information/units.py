"""Bits for people, nats for formulas."""

import math
from typing import Any, Literal

from noiselimit.errors import unknown

Unit = Literal["bits", "nats"]
NATS_PER = {"bits": math.log(2), "nats": 1.0}


def to_nats(amount: Any, unit: Unit) -> Any:
    """An amount of information, a number or an array, given in this unit."""
    return amount * _nats_per(unit)


def from_nats(amount: Any, unit: Unit) -> Any:
    """An amount of nats, a number or an array, in this unit."""
    return amount / _nats_per(unit)


def _nats_per(unit: str) -> float:
    if unit not in NATS_PER:
        raise unknown("unit", unit, NATS_PER)
    return NATS_PER[unit]
