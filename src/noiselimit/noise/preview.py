"""Preview: what a noise does to labels, before you train: the matrix, the noise rate and the bits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noiselimit.data.examples import Examples
from noiselimit.information import entropy, entropy_of_posteriors, entropy_of_transition
from noiselimit.noise.base import Matrix, Noise


@dataclass(frozen=True, eq=False)
class Preview:
    """The effect of a noise. Rows are clean labels, columns noisy ones; rows of absent classes are NaN."""

    class_names: tuple[str, ...]
    counts: npt.NDArray[np.int64] | None
    """[k, k] numbers of examples; None without data."""
    expected: Matrix | None
    """[k, k] expected rates; None for given labels, which have no model."""
    bits: float
    """H(y|x), the mean bits of a label that the input does not determine; NaN if unknown."""
    bits_are_estimated: bool
    """Whether the bits come from the frequencies in one draw, because no model is known."""
    clean_is_known: bool = True
    """False if labels stay as they are and clean labels are unknown: none can be called wrong."""

    @property
    def rates(self) -> Matrix:
        """[k, k] shares of each clean class; empirical if there are data."""
        if self.counts is None:
            assert self.expected is not None
            return self.expected
        return _shares(self.counts)

    @property
    def wrong_by_class(self) -> npt.NDArray[np.float64]:
        """[k] share of each clean class whose label becomes wrong; NaN if unknown."""
        return 1 - self.rates.diagonal() if self.clean_is_known else np.full(len(self.class_names), np.nan)

    @property
    def wrong(self) -> float | None:
        """Share of wrong labels in this draw; None without data or if unknown."""
        if self.counts is None or not self.clean_is_known:
            return None
        return float(1 - self.counts.trace() / self.counts.sum())

    @property
    def expected_wrong(self) -> float | None:
        """Expected share of wrong labels; without data, for equally frequent classes."""
        if self.expected is None or not self.clean_is_known:
            return None
        right = self.expected.diagonal()
        if self.counts is None:
            return float(1 - right.mean())
        sizes = self.counts.sum(axis=1)
        return float(1 - right[sizes > 0] @ sizes[sizes > 0] / sizes.sum())


def preview(examples: Examples, noise: Noise, seed: int) -> Preview:
    """Apply the noise to the examples and count what happens to their clean labels."""
    clean = examples.labels if examples.clean_labels is None else examples.clean_labels
    classes = examples.classes
    applied = noise.apply(examples, seed)
    counts = np.bincount(clean * classes + applied.labels, minlength=classes**2).reshape(classes, classes)
    posteriors, expected = noise.posteriors(examples, seed), None
    if posteriors is not None:
        expected = np.full((classes, classes), np.nan)
        for label in np.unique(clean):
            expected[label] = posteriors[clean == label].mean(axis=0)
    if applied.clean_labels is None:
        return Preview(examples.class_names, counts, expected, np.nan, False, clean_is_known=False)
    # Labels that were wrong before come from an unknown model, so the bits can only be estimated.
    if posteriors is not None and np.array_equal(clean, examples.labels):
        return Preview(
            examples.class_names, counts, expected, float(entropy_of_posteriors(posteriors)), False
        )
    sizes = counts.sum(axis=1)
    present = sizes > 0
    bits = float(entropy(_shares(counts)[present]) @ sizes[present] / sizes.sum())
    return Preview(examples.class_names, counts, expected, bits, True)


def preview_classes(class_names: Sequence[str], noise: Noise) -> Preview:
    """Preview the noise without data: its own matrix, and the bits for equally frequent classes."""
    matrix = noise.transition(class_names)
    bits = float(entropy_of_transition(matrix))
    return Preview(tuple(class_names), None, matrix, bits, bits_are_estimated=False)


def _shares(counts: npt.NDArray[np.int64]) -> Matrix:
    sizes = counts.sum(axis=1, keepdims=True)
    return np.where(sizes > 0, counts / np.maximum(sizes, 1), np.nan)
