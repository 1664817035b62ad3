"""Classification: one of k classes; outputs are logits and their mean is softmax."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from noiselimit.tasks.task import Array, Floats, Task, Tensor

if TYPE_CHECKING:
    import torch

PIECE = 2**20  # probabilities at a time, to save memory


@dataclass(frozen=True)
class Classification(Task):
    """Labels are class numbers, −1 if missing; as tensors also probabilities [..., C]."""

    name: ClassVar[str] = "classification"
    has_classes: ClassVar[bool] = True
    least_outputs: ClassVar[int] = 2
    column_type: ClassVar[str] = "Int64"

    def mean(self, outputs: Tensor, dtype: "torch.dtype | None" = None) -> Tensor:
        return outputs.softmax(-1, dtype=dtype)

    def target(self, labels: Tensor, means: Tensor) -> Tensor:
        return onehot(labels, means.shape[-1], means.dtype)

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return -log_likelihood(outputs, labels)

    def absolute_error(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """2 (1 − p_y); expm1 keeps the digits where p_y is near 1."""
        return -2.0 * log_likelihood(outputs, labels).expm1()

    def score(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return outputs.argmax(-1) == labels

    def encode(self, labels: Array) -> Array:
        return labels

    def is_missing(self, labels: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(labels < 0)

    def gaps(self, means: Array, labels: Array) -> Floats:
        # ‖e_y − s‖² = ‖s‖² − 2 s_y + 1, written as (1 − s_y)² + Σ_{j≠y} s_j² to stay exact near zero.
        gaps = np.empty(len(labels))
        step = max(1, PIECE // max(means.shape[1], 1))
        for start in range(0, len(labels), step):
            s = means[start : start + step].astype(np.float64)
            rows, own = np.arange(len(s)), labels[start : start + step]
            s[rows, own] = 1.0 - s[rows, own]
            gaps[start : start + step] = np.sqrt(np.square(s, out=s).sum(1))
        return gaps

    def quality(self, gaps: Floats) -> Floats:
        return np.asarray(np.clip(1.0 - gaps / np.sqrt(2.0), 0.0, 1.0), np.float64)

    def reproduces(self, means: Array, labels: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(means.argmax(1) == labels)

    def suggest(self, means: Array) -> tuple[Array, Array]:
        return means.argmax(1), means.max(1)


def onehot(labels: Tensor, classes: int, dtype: "torch.dtype") -> Tensor:
    """[..., C] indicator of the labels; a comparison, because `F.one_hot` fails under vmap.

    Probabilities [..., C] are returned as they are.
    """
    import torch

    if labels.is_floating_point():
        return labels.to(dtype)
    return (labels.unsqueeze(-1) == torch.arange(classes, device=labels.device)).to(dtype)


def log_likelihood(logits: Tensor, labels: Tensor) -> Tensor:
    """[...] log softmax(logits)_y, finite however small the probability; its mean under labels [..., C]."""
    if labels.is_floating_point():
        return (labels * logits.log_softmax(-1)).sum(-1)
    return logits.log_softmax(-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)


CLASSIFICATION = Classification()
