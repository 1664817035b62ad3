"""What the training error of each row's epochs implies about the noise that it has memorised."""

import math
from collections.abc import Sequence

from noiselimit.cohort.outcome import Record
from noiselimit.cohort.totals import EpochTotals
from noiselimit.information import gradient_capacity
from noiselimit.meter import estimated_entropy, implied_bits
from noiselimit.methods import get_method
from noiselimit.spec import RunSpec


class MemorisedRows:
    """The meter of `noiselimit.meter` for K rows, epoch after epoch."""

    def __init__(self, noise_entropies: Sequence[float | None], classes: int) -> None:
        """`noise_entropies`: H(y|x) of each row's training labels in bits, where it is known."""
        self._entropies = list(noise_entropies)
        self._classes = classes
        self._capacities = [0.0] * len(self._entropies)
        self._estimates = [math.inf] * len(self._entropies)

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows."""
        self._entropies = [self._entropies[row] for row in rows]
        self._capacities = [self._capacities[row] for row in rows]
        self._estimates = [self._estimates[row] for row in rows]

    def held(self, row: int) -> tuple[float, float]:
        """What epochs have left of a row: bits added up, and the least estimate."""
        return self._capacities[row], self._estimates[row]

    def restore(self, row: int, capacity: float, estimate: float) -> None:
        """Go on from there."""
        self._capacities[row], self._estimates[row] = capacity, estimate

    def after(self, totals: EpochTotals, specs: Sequence[RunSpec], examples: int) -> list[Record]:
        """What each row's history says of the epoch, with so many training examples."""
        correct, wrong, fitted = totals.correct.tolist(), totals.wrong.tolist(), totals.fitted.tolist()
        unsure, square_norm = totals.unsure.tolist(), totals.square_norm.tolist()
        records: list[Record] = []
        for i, spec in enumerate(specs):
            entropy = self._entropies[i]
            if entropy is None and get_method(spec.method).needs_predictor and math.isfinite(unsure[i]):
                # The least so far: an untrained predictor is unsure of labels that it only has to learn.
                estimate = estimated_entropy(unsure[i] / examples, self._classes)
                entropy = self._estimates[i] = min(self._estimates[i], estimate)
            capacity = _capacity(spec, square_norm[i] / examples, self._classes)
            self._capacities[i] += capacity or 0.0
            records.append(
                {
                    "noise_entropy": entropy,
                    "memorised_bits": implied_bits(1 - correct[i] / examples, entropy, self._classes),
                    "wrong_fitted": fitted[i] / wrong[i] if wrong[i] else None,
                    "capacity_bits": None if capacity is None else self._capacities[i],
                }
            )
        return records


def _capacity(spec: RunSpec, mean_square_norm: float, classes: int) -> float | None:
    """Bits per label that an epoch's sampled gradients may have told (Prop. 3.1); None for other methods.

    None as well where labels reach the weights by another way (a start that may know them, an order that is
    drawn from them), and without noise, where the bound is infinite.
    """
    method = get_method(spec.method)
    if spec.sampler != "shuffled" or spec.initial_weights is not None:
        return None
    if not method.needs_predictor or method.draws is None or not math.isfinite(mean_square_norm):
        return None
    sigma = spec.hyper["sigma"]
    return float(gradient_capacity(mean_square_norm, classes, sigma, method.draws)) if sigma else None
