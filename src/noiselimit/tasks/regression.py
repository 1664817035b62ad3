"""Regression: labels are numbers; the output is their mean, in units of a robust spread."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError
from noiselimit.tasks.task import Array, Floats, Task, Tensor, against_zero

if TYPE_CHECKING:
    import torch

NORMAL = 1.349
"""Inter-quartile range of a normal distribution of unit variance."""
CLOSE = float(np.log(2.0))
"""Error, in units of the scale, at which the score is ½."""


@dataclass(frozen=True)
class Regression(Task):
    """Labels are numbers, NaN if missing. Training sees (label − centre) / scale."""

    centre: float = 0.0
    scale: float = 1.0
    name: ClassVar[str] = "regression"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.centre) and 0 < self.scale < np.inf):
            raise ValueError(f"a centre of {self.centre} and a scale of {self.scale} are impossible")

    @classmethod
    def of(cls, labels: Array, source: str = "labels") -> Self:
        """With median and spread of these labels, which outliers do not move."""
        values = read_values(labels, source)
        known = values[~np.isnan(values)]
        if not len(known) or (known == known[0]).all():
            which = f"the label {known[0]:g}" if len(known) else "a label"
            count = f"{len(known)} sample{'' if len(known) == 1 else 's'} with {which}"
            raise InputError(f"{source}: there is nothing to learn from {count}; give different labels.")
        low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
        # If most labels are equal, the quartiles are, too.
        spread = (high - low) / NORMAL or float(np.abs(known - middle).mean())
        return cls(float(middle), float(spread))

    def mean(self, outputs: Tensor, dtype: "torch.dtype | None" = None) -> Tensor:
        return outputs if dtype is None else outputs.to(dtype)

    def target(self, labels: Tensor, means: Tensor) -> Tensor:
        return labels.unsqueeze(-1).to(means.dtype)

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """½ (a − y)²."""
        return (outputs - self.target(labels, outputs)).square().sum(-1) / 2

    def score(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """e^−|a − y|: bounded, so that a few gross errors among the labels do not decide."""
        right, wrong = against_zero(-self.absolute_error(outputs, labels)).softmax(-1).unbind(-1)
        return right / wrong

    def encode(self, labels: Array) -> Array:
        return ((labels - self.centre) / self.scale).astype(np.float32)

    def decode(self, means: Array) -> Floats:
        """[n]: values in the units of the labels."""
        return np.asarray(means, np.float64).reshape(len(means)) * self.scale + self.centre

    def is_missing(self, labels: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isnan(labels))

    def gaps(self, means: Array, labels: Array) -> Floats:
        return np.asarray(np.abs(self.decode(means) - labels) / self.scale)

    def quality(self, gaps: Floats) -> Floats:
        return np.exp(-gaps)

    def reproduces(self, means: Array, labels: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(self.gaps(means, labels) < CLOSE)

    def suggest(self, means: Array) -> tuple[Array, Array]:
        return self.decode(means), np.full(len(means), np.nan)


def read_values(labels: Any, source: str) -> Floats:
    """Labels [n] as float64, NaN where missing; InputError if they are not numbers or infinite."""
    from noiselimit.data.arrays import label_array

    array = label_array(labels, source)
    try:
        values = np.asarray(array, np.float64)
    except (TypeError, ValueError):
        row = next((row for row, label in enumerate(array) if isinstance(label, str)), 0)
        raise InputError(
            f"{source}: the label in row {row} is {array[row]!r}; give numbers, or task 'classification'."
        ) from None
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        raise InputError(f"{source}: the label in row {row} is infinite; correct it or leave it empty.")
    return values
