"""What a task is: how outputs and labels of a problem are read. No other module asks which task it is."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch
    from torch import Tensor as Tensor
else:
    Tensor = Any  # methods are listed by `train --help`, which must not import torch

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]


class Task(ABC):
    """A problem: how the outputs a of a network become the mean m(a) of the labels. Frozen dataclasses.

    The loss of a task is the one whose gradient by the outputs is m(a) − y, so that LIMIT's predicted
    gradient is μ = m(a) − m(r) in every task.
    """

    name: ClassVar[str]
    has_classes: ClassVar[bool] = False
    """Whether labels are class numbers: class noises, the meter in bits and the GPU kernels need them."""
    least_outputs: ClassVar[int] = 1
    column_type: ClassVar[str] = "Float64"
    """Type of labels in a table."""

    # Tensors: outputs [..., C], labels as `encode` returns them -----------------------------------------

    @abstractmethod
    def mean(self, outputs: Tensor, dtype: "torch.dtype | None" = None) -> Tensor:
        """m(a) [..., C]: the mean of the labels that these outputs stand for."""

    @abstractmethod
    def target(self, labels: Tensor, means: Tensor) -> Tensor:
        """y [..., C] like the means."""

    @abstractmethod
    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """[...]: the plain loss, whose gradient by the outputs is m(a) − y."""

    def absolute_error(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """[...]: ‖m(a) − y‖₁."""
        means = self.mean(outputs)
        return (means - self.target(labels, means)).abs().sum(-1)

    @abstractmethod
    def score(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """[...]: from 0 to 1, or bool; above ½ where the label is reproduced. Its mean is the accuracy."""

    def gap(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """[...]: ‖m(a) − y‖, the distance between predicted and true gradient."""
        means = self.mean(outputs)
        return (self.target(labels, means) - means).square().sum(-1).sqrt()

    # Arrays: labels as users give them, means [n, C] ----------------------------------------------------

    @abstractmethod
    def encode(self, labels: Array) -> Array:
        """Labels of examples, none missing, as training takes them."""

    @abstractmethod
    def is_missing(self, labels: Array) -> npt.NDArray[np.bool_]:
        """[n]: which labels are missing."""

    @abstractmethod
    def gaps(self, means: Array, labels: Array) -> Floats:
        """[n]: ‖y − means‖."""

    @abstractmethod
    def quality(self, gaps: Floats) -> Floats:
        """[n]: gaps as label quality from 0, the worst, to 1."""

    @abstractmethod
    def reproduces(self, means: Array, labels: Array) -> npt.NDArray[np.bool_]:
        """[n]: whether a network with these means has learned the label."""

    @abstractmethod
    def suggest(self, means: Array) -> tuple[Array, Array]:
        """[n], [n]: the label that the means suggest, and its probability (NaN where there is none)."""

    def column(self, labels: Array) -> Array:
        """[n]: the labels as a column of a table."""
        return labels

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; see `task_from_json`."""
        return {"name": self.name, **vars(self)}


def against_zero(outputs: Tensor) -> Tensor:
    """[..., 2]: the outputs and 0. Softmax of it is a sigmoid that depends on nothing but its own output.

    `torch.sigmoid` and `torch.exp` round the last elements of a tensor in another way on a CPU, so that a
    run would depend on its cohort.
    """
    import torch

    return torch.stack([outputs, torch.zeros_like(outputs)], -1)
