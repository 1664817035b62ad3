"""Sums over an epoch that stay on the device."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class EpochTotals:
    """Sums over an epoch, kept on the device so that no step waits for them."""

    loss: Tensor
    """float64 [K], summed over examples."""
    correct: Tensor
    """int64 [K]: given labels hit while training."""
    first_bad: Tensor
    """int64 [K]: first step whose loss was not finite, or −1."""

    @classmethod
    def zeros(cls, rows: int, device: torch.device) -> "EpochTotals":
        return cls(
            torch.zeros(rows, dtype=torch.float64, device=device),
            torch.zeros(rows, dtype=torch.int64, device=device),
            torch.full((rows,), -1, dtype=torch.int64, device=device),
        )

    def add(self, losses: Tensor, logits: Tensor, labels: Tensor, step: Tensor) -> None:
        self.loss.add_(losses.to(torch.float64) * labels.shape[1])
        self.correct.add_((logits.argmax(-1) == labels).sum(1))
        self.first_bad.copy_(torch.where((self.first_bad < 0) & ~losses.isfinite(), step, self.first_bad))
