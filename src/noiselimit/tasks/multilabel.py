"""Multi-label: any number of classes for each example; outputs are logits of independent classes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError
from noiselimit.tasks.task import Array, Floats, Task, Tensor, against_zero

if TYPE_CHECKING:
    import torch

MARK = ";"
"""Between the names of classes in a text."""


@dataclass(frozen=True)
class MultiLabel(Task):
    """Labels [n, C] are 1 where an example belongs to a class, else 0; none are missing."""

    name: ClassVar[str] = "multilabel"
    column_type: ClassVar[str] = "string"

    def mean(self, outputs: Tensor, dtype: "torch.dtype | None" = None) -> Tensor:
        return against_zero(outputs).softmax(-1, dtype=dtype)[..., 0]

    def target(self, labels: Tensor, means: Tensor) -> Tensor:
        return labels.to(means.dtype)

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Σ log(1 + e^a) − y a: the binary cross-entropies of all classes."""
        softplus = -against_zero(outputs).log_softmax(-1)[..., 1]
        return (softplus - labels.to(outputs.dtype) * outputs).sum(-1)

    def score(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Whether all classes are right, as in scikit-learn's accuracy."""
        return ((outputs > 0) == (labels > 0.5)).all(-1)

    def encode(self, labels: Array) -> Array:
        return labels.astype(np.float32)

    def is_missing(self, labels: Array) -> npt.NDArray[np.bool_]:
        return np.zeros(len(labels), bool)

    def gaps(self, means: Array, labels: Array) -> Floats:
        return np.asarray(np.linalg.norm(np.asarray(means, np.float64) - labels, axis=1))

    def quality(self, gaps: Floats) -> Floats:
        return np.exp(-gaps)

    def reproduces(self, means: Array, labels: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(((means > 0.5) == (labels > 0.5)).all(1))

    def suggest(self, means: Array) -> tuple[Array, Array]:
        return self.column(means > 0.5), np.maximum(means, 1 - means).min(1)

    def column(self, labels: Array) -> Array:
        """[n]: the numbers of the classes as text, such as `0;2`."""
        return join_names(labels, [str(number) for number in range(labels.shape[1])])


def join_names(labels: Array, class_names: Sequence[str]) -> npt.NDArray[Any]:
    """[n]: names of the classes [n, C] of each example, such as `cat;dog`."""
    names = np.array(class_names, object)
    return np.array([MARK.join(names[row]) for row in np.asarray(labels, bool)], object)


def read_sets(labels: Any, source: str) -> tuple[npt.NDArray[np.int8], tuple[str, ...]]:
    """([n, C] indicators, class names) of a matrix of 0 and 1, lists of names, or texts such as `cat;dog`."""
    if getattr(labels, "ndim", 1) == 2:
        matrix = np.asarray(labels)
        wrong = ~np.isin(matrix, (0, 1))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            found = matrix[row, column]
            raise InputError(f"{source}: row {row}, class {column} is {found}; give 0 or 1 for every class.")
        names = tuple(map(str, getattr(labels, "columns", range(matrix.shape[1]))))
        return _not_constant(matrix.astype(np.int8), names, source)
    sets: list[list[str]] = []
    for row, value in enumerate(labels):
        names_here = value.split(MARK) if isinstance(value, str) else value
        if not isinstance(names_here, Collection) or isinstance(value, dict | bytes):
            raise InputError(
                f"{source}: row {row} is {value!r}; give a list of names, or text such as 'cat{MARK}dog'."
            )
        sets.append([str(name).strip() for name in names_here if str(name).strip()])
    names = tuple(sorted({name for each in sets for name in each}))
    place = {name: number for number, name in enumerate(names)}
    found = np.zeros((len(sets), len(names)), np.int8)
    for row, each in enumerate(sets):
        found[row, [place[name] for name in each]] = 1
    return _not_constant(found, names, source)


def _not_constant(
    labels: npt.NDArray[np.int8], names: tuple[str, ...], source: str
) -> tuple[npt.NDArray[np.int8], tuple[str, ...]]:
    if not len(labels) or not ((labels.min(0) == 0) & (labels.max(0) == 1)).any():
        raise InputError(f"{source}: every class is in all rows or in none; give labels that differ.")
    return labels, names
