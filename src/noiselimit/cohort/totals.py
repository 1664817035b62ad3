"""Sums over an epoch that stay on the device."""

from dataclasses import dataclass

import torch
from torch import Tensor

from noiselimit.meter import predictor_bits

MOST_TALLIED_CLASSES = 64
"""One program counts a row, which pays for few classes: timed once on an H200, it was quicker than the plain
launches with 10 classes, no quicker with 100 and much slower with 1,000."""


@dataclass(frozen=True, eq=False)
class EpochTotals:
    """Sums over an epoch, kept on the device so that no step waits for them."""

    loss: Tensor
    """float64 [K], summed over examples."""
    correct: Tensor
    """int64 [K]: given labels hit while training."""
    wrong: Tensor
    """int64 [K]: wrong labels seen, where it is known which are wrong."""
    fitted: Tensor
    """int64 [K]: those of them that were hit while training."""
    unsure: Tensor
    """float64 [K]: entropies in bits of the predictor's probabilities; 0 in rows without predictor."""
    square_norm: Tensor
    """float64 [K]: ‖μ‖² of the predicted gradients, likewise."""
    first_bad: Tensor
    """int64 [K]: first step whose loss was not finite, or −1."""

    @classmethod
    def zeros(cls, rows: int, device: torch.device) -> "EpochTotals":
        def sums(dtype: torch.dtype) -> Tensor:
            return torch.zeros(rows, dtype=dtype, device=device)

        return cls(
            loss=sums(torch.float64),
            correct=sums(torch.int64),
            wrong=sums(torch.int64),
            fitted=sums(torch.int64),
            unsure=sums(torch.float64),
            square_norm=sums(torch.float64),
            first_bad=sums(torch.int64) - 1,
        )

    def clear(self) -> None:
        """Begin anew, in the same tensors."""
        torch._foreach_zero_(self._sums())
        self.first_bad.fill_(-1)

    def _sums(self) -> tuple[Tensor, ...]:
        return self.loss, self.correct, self.wrong, self.fitted, self.unsure, self.square_norm

    @torch.no_grad()
    def add(
        self,
        losses: Tensor,
        logits: Tensor,
        predicted: Tensor | None,
        labels: Tensor,
        wrong: Tensor | None,
        step: Tensor,
        kernels: bool = False,
    ) -> None:
        """Count one step: [K] losses, [K, B, C] logits, [P, B, C] of predictors, [K, B] labels and flags.

        With `kernels` in one launch, for which the device must be a GPU, where there are few classes.
        """
        if kernels and logits.shape[-1] <= MOST_TALLIED_CLASSES:
            from noiselimit.kernels.tally import tally

            tally((*self._sums(), self.first_bad), losses, logits, predicted, labels, wrong, step)
            return
        hit = logits.argmax(-1) == labels
        self.loss.add_(losses.to(torch.float64) * labels.shape[1])
        self.correct.add_(hit.sum(1))
        if wrong is not None:
            self.wrong.add_(wrong.sum(1))
            self.fitted.add_((hit & wrong).sum(1))
        if predicted is not None:
            rows = len(predicted)
            mu = logits[:rows].softmax(-1) - predicted.softmax(-1)
            self.unsure[:rows].add_(predictor_bits(predicted).sum(1))
            self.square_norm[:rows].add_(mu.square().sum((1, 2)))
        self.first_bad.copy_(torch.where((self.first_bad < 0) & ~losses.isfinite(), step, self.first_bad))
