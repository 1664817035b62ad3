"""Five-fold cross-validation as rows of one cohort, which need parts of one size."""

import numpy as np
import numpy.typing as npt

from noiselimit.randomness import Stream, permutation
from noiselimit.split import Split

FOLDS = 5
Indices = npt.NDArray[np.int64]


def fold_numbers(labels: Indices, seed: int) -> Indices:
    """[n]: which fold an example is held out in; every given class is spread evenly over the folds."""
    order = permutation(seed, Stream.SPLIT, 0, len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    numbers = np.empty(len(labels), np.int64)
    numbers[by_class] = np.arange(len(labels)) % FOLDS
    return numbers


def fold_splits(labels: Indices, seed: int) -> list[Split]:
    """Training and held-out examples of each fold, the latter as the validation part.

    Where the folds' sizes differ, by one at most, the smaller ones leave one training example out and hold
    one example twice, so that all are of one size.
    """
    numbers = fold_numbers(labels, seed)
    held_out = [np.flatnonzero(numbers == fold) for fold in range(FOLDS)]
    largest = max(map(len, held_out))
    trained = [permuted[: len(labels) - largest] for permuted in _others(numbers, seed)]
    nothing = np.empty(0, np.int64)
    return [
        Split(train, np.resize(apart, largest), nothing)
        for train, apart in zip(trained, held_out, strict=True)
    ]


def _others(numbers: Indices, seed: int) -> list[Indices]:
    """In random order: which of them is left out is left to chance."""
    order = permutation(seed, Stream.SPLIT, 2, len(numbers))
    return [order[numbers[order] != fold] for fold in range(FOLDS)]
