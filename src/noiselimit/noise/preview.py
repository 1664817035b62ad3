"""What a noise does to data, before anything is trained: the matrix, the rate, the bits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noiselimit.data.examples import Examples
from noiselimit.information import entropy, entropy_of_posteriors, entropy_of_transition
from noiselimit.noise.base import Matrix, Noise


@dataclass(frozen=True, eq=False)
class Preview:
    """Rows are clean labels, columns the labels after the noise. Rows of absent classes are NaN."""

    class_names: tuple[str, ...]
    counts: npt.NDArray[np.int64] | None
    """[k, k] examples; None where the preview is of classes without data."""
    expected: Matrix | None
    """[k, k] what the noise model says of the rates; None for given labels, which have no model."""
    bits: float
    """H(y|x): how many bits of each label the input does not tell, on average; NaN where not known."""
    bits_are_estimated: bool
    """True where one draw is all that is known, so that the bits come from the classes' frequencies."""
    clean_is_known: bool = True
    """False where labels stay as they came and nobody has said which are right: none can be called wrong."""

    @property
    def rates(self) -> Matrix:
        """[k, k] shares of each clean class, empirical where there are data."""
        if self.counts is None:
            assert self.expected is not None
            return self.expected
        return _shares(self.counts)

    @property
    def wrong_by_class(self) -> npt.NDArray[np.float64]:
        """[k] share of each clean class whose label becomes wrong; NaN where that is not known."""
        return 1 - self.rates.diagonal() if self.clean_is_known else np.full(len(self.class_names), np.nan)

    @property
    def wrong(self) -> float | None:
        """Share of examples whose label is wrong in this draw; None without data or where it is not known."""
        if self.counts is None or not self.clean_is_known:
            return None
        return float(1 - self.counts.trace() / self.counts.sum())

    @property
    def expected_wrong(self) -> float | None:
        """The share that the noise model makes wrong; without data, of equally frequent classes."""
        if self.expected is None or not self.clean_is_known:
            return None
        right = self.expected.diagonal()
        if self.counts is None:
            return float(1 - right.mean())
        sizes = self.counts.sum(axis=1)
        return float(1 - right[sizes > 0] @ sizes[sizes > 0] / sizes.sum())


def preview(examples: Examples, noise: Noise, seed: int) -> Preview:
    """Apply the noise to the examples and count; clean labels are the known ones, else those before."""
    clean = examples.labels if examples.clean_labels is None else examples.clean_labels
    classes = examples.classes
    applied = noise.apply(examples, seed)
    noisy = applied.labels
    counts = np.bincount(clean * classes + noisy, minlength=classes**2).reshape(classes, classes)
    posteriors = noise.posteriors(examples, seed)
    expected = None if posteriors is None else _mean_by_class(posteriors, clean, classes)
    if applied.clean_labels is None:
        return Preview(examples.class_names, counts, expected, np.nan, False, clean_is_known=False)
    # Labels that were wrong before are one draw of nobody knows what, so there the model tells too little.
    if posteriors is None or not np.array_equal(clean, examples.labels):
        sizes = counts.sum(axis=1)
        present = sizes > 0
        bits = entropy(_shares(counts)[present]) @ sizes[present] / sizes.sum()
        return Preview(examples.class_names, counts, expected, float(bits), bits_are_estimated=True)
    bits = entropy_of_posteriors(posteriors)
    return Preview(examples.class_names, counts, expected, float(bits), bits_are_estimated=False)


def preview_classes(class_names: Sequence[str], noise: Noise) -> Preview:
    """The same without data: the noise's own matrix, and the bits of equally frequent classes."""
    matrix = noise.transition(class_names)
    bits = float(entropy_of_transition(matrix))
    return Preview(tuple(class_names), None, matrix, bits, bits_are_estimated=False)


def _mean_by_class(posteriors: Matrix, clean: npt.NDArray[np.int64], classes: int) -> Matrix:
    """[k, k]: the mean posterior of the examples of each class."""
    mean = np.full((classes, classes), np.nan)
    for label in np.unique(clean):
        mean[label] = posteriors[clean == label].mean(axis=0)
    return mean


def _shares(counts: npt.NDArray[np.int64]) -> Matrix:
    sizes = counts.sum(axis=1, keepdims=True)
    return np.where(sizes > 0, counts / np.maximum(sizes, 1), np.nan)
