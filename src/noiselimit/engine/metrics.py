"""What each epoch measures: training loss, hits, and the memorised label noise."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from noiselimit.engine.results import Record
from noiselimit.information import gradient_capacity
from noiselimit.information.meter import estimated_entropy, implied_bits, predictor_bits
from noiselimit.methods import get_method
from noiselimit.runs.spec import RunSpec

MOST_TALLIED_CLASSES = 64
"""Up to here our kernel is used. On an H200 it was faster than torch with 10 classes, not with 100."""


class EpochTotals(NamedTuple):
    """Sums over an epoch, [K], on the device so that no step waits for them."""

    loss: Tensor  # float64: summed over examples
    correct: Tensor  # int64: given labels hit in training
    wrong: Tensor  # int64: wrong labels seen, if it is known which are wrong
    fitted: Tensor  # int64: wrong labels hit in training
    unsure: Tensor  # float64: entropy of the predictor's probabilities in bits; 0 in rows without predictor
    square_norm: Tensor  # float64: ‖μ‖² of the predicted gradients; likewise
    first_bad: Tensor  # int64: first step whose loss was not finite, or −1

    @classmethod
    def zeros(cls, rows: int, device: torch.device) -> "EpochTotals":
        real, whole = torch.float64, torch.int64
        types = (real, whole, whole, whole, real, real, whole)
        totals = cls(*(torch.zeros(rows, dtype=dtype, device=device) for dtype in types))
        totals.first_bad.fill_(-1)
        return totals

    def clear(self) -> None:
        """Start again, in the same tensors."""
        torch._foreach_zero_(self[:-1])
        self.first_bad.fill_(-1)

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
        """Add one step: [K] losses, [K, B, C] logits, [P, B, C] predictor logits, [K, B] labels and flags.

        `kernels`: in one launch on a GPU, if there are few classes.
        """
        if kernels and logits.shape[-1] <= MOST_TALLIED_CLASSES:
            from noiselimit.engine.kernels.tally import tally

            tally(self, losses, logits, predicted, labels, wrong, step)
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


def memorisation(
    totals: EpochTotals,
    specs: Sequence[RunSpec],
    noise_entropies: Sequence[float | None],
    histories: Sequence[Sequence[Record]],
    classes: int,
    examples: int,
) -> list[Record]:
    """The part of each row's next history record that measures memorised label noise, in bits per label.

    `noise_entropies`: H(y|x) of each row's training labels in bits, or None if unknown.
    """
    correct, wrong, fitted = totals.correct.tolist(), totals.wrong.tolist(), totals.fitted.tolist()
    unsure, square_norm = totals.unsure.tolist(), totals.square_norm.tolist()
    records: list[Record] = []
    for i, spec in enumerate(specs):
        before: Record = histories[i][-1] if histories[i] else {}
        entropy = noise_entropies[i]
        if entropy is None and get_method(spec.method).needs_predictor and math.isfinite(unsure[i]):
            # The lowest so far: an untrained predictor is unsure of labels that it has yet to learn.
            lowest = before.get("noise_entropy")
            estimate = estimated_entropy(unsure[i] / examples, classes)
            entropy = estimate if lowest is None else min(lowest, estimate)
        capacity = _capacity(spec, square_norm[i] / examples, classes)
        if capacity is not None:
            capacity += before.get("capacity_bits") or 0.0
        records.append(
            {
                "noise_entropy": entropy,
                "memorised_bits": implied_bits(1 - correct[i] / examples, entropy, classes),
                "wrong_fitted": fitted[i] / wrong[i] if wrong[i] else None,
                "capacity_bits": capacity,
            }
        )
    return records


def _capacity(spec: RunSpec, mean_square_norm: float, classes: int) -> float | None:
    """Bits per label that an epoch's sampled gradients can carry (Prop. 3.1); None if there is no bound.

    There is none for other methods, without noise, and if labels reach the weights in another way: by initial
    weights or by a sampler that depends on them.
    """
    method = get_method(spec.method)
    if spec.sampler != "shuffled" or spec.initial_weights is not None:
        return None
    if not method.needs_predictor or method.draws is None or not math.isfinite(mean_square_norm):
        return None
    sigma = spec.hyper["sigma"]
    return float(gradient_capacity(mean_square_norm, classes, sigma, method.draws)) if sigma else None
