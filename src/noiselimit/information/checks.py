"""What functions of numbers accept: each mistake is one sentence that names the argument and the place."""

import math
import reprlib
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError

Array = npt.NDArray[np.float64]
Numbers = Any  # a float where all arguments were numbers, else an array of floats
TOLERANCE = 1e-5  # of a sum of probabilities, which may come from a softmax in single precision


def numbers(name: str, value: Any, *, at_least: float = 0.0, at_most: float = math.inf) -> Array:
    """The value as an array of finite numbers in [at_least, at_most]."""
    wanted = f"a number from {at_least:g} to {at_most:g}"
    if at_most == math.inf:
        wanted = f"a finite number ≥ {at_least:g}"
    found = _floats(name, value, wanted)
    _refuse_unless(np.isfinite(found) & (found >= at_least) & (found <= at_most), name, found, wanted)
    return found


def positive(name: str, value: Any) -> Array:
    """The value as an array of finite numbers above 0."""
    found = _floats(name, value, wanted := "a finite number > 0")
    _refuse_unless(np.isfinite(found) & (found > 0), name, found, wanted)
    return found


def whole_numbers(name: str, value: Any, *, at_least: int) -> Array:
    """The value as an array of whole numbers, kept as floats because formulas follow."""
    found = _floats(name, value, wanted := f"a whole number ≥ {at_least}")
    _refuse_unless(np.isfinite(found) & (found >= at_least) & (found == np.floor(found)), name, found, wanted)
    return found


def distributions(name: str, value: Any, *, axes: int = 1) -> Array:
    """The value as an array of probabilities that sum to 1 over the last axes, brought to that exactly."""
    found = numbers(name, value, at_most=1)
    if found.ndim < axes or 0 in found.shape:
        raise InputError(f"{name} is of shape {list(found.shape)}: give at least {axes} axes, none empty.")
    sums = found.sum(axis=tuple(range(-axes, 0)), keepdims=True)
    wrong = np.abs(sums - 1) > TOLERANCE
    if wrong.any():
        place = _place(name, np.argwhere(wrong)[0][:-axes])
        raise InputError(f"{place} sums to {sums[wrong][0]:.9g}: probabilities must sum to 1, so rescale it.")
    return np.asarray(found / sums)


def at_least_two_classes(name: str, distributions: Array) -> int:
    """The length of the last axis, k."""
    if distributions.shape[-1] < 2:
        raise InputError(f"{name} is for 1 class: give at least 2.")
    return int(distributions.shape[-1])


def broadcast(**arrays: Array) -> tuple[Array, ...]:
    """The arrays in one common shape."""
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
        raise InputError(f"shapes do not go together ({shapes}): give numbers or equal shapes.") from None


def plain(array: Any) -> Numbers:
    """A float in place of an array without axes."""
    found = np.asarray(array, np.float64) + 0.0  # no negative zero
    return found if found.ndim else float(found)


def _floats(name: str, value: Any, wanted: str) -> Array:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {reprlib.repr(value)}: give {wanted}.") from None


def _refuse_unless(good: npt.NDArray[np.bool_], name: str, found: Array, wanted: str) -> None:
    if not good.all():
        place = np.argwhere(~good)[0]
        raise InputError(f"{_place(name, place)} is {found[tuple(place)]:g}: give {wanted}.")


def _place(name: str, index: npt.NDArray[np.intp]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if len(index) else name
