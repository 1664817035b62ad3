"""Folds hold every example out once, spread classes evenly, and are of one size."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.bench.detection.folds import FOLDS, fold_numbers, fold_splits


@given(st.lists(st.integers(0, 3), min_size=15, max_size=60), st.integers(0, 2**40))
def test_folds(labels: list[int], seed: int) -> None:
    given_labels = np.array(labels)
    splits = fold_splits(given_labels, seed)
    held_out = np.concatenate([np.unique(split.validation) for split in splits])
    assert np.sort(held_out).tolist() == list(range(len(labels)))
    assert len({len(split.train) for split in splits}) == 1
    assert len({len(split.validation) for split in splits}) == 1
    for split in splits:
        assert not np.intersect1d(split.train, split.validation).size
        assert len(np.unique(split.train)) == len(split.train)
        assert len(split.train) + len(np.unique(split.validation)) >= len(labels) - 1
        assert not len(split.test)


@given(st.lists(st.integers(0, 3), min_size=15, max_size=60), st.integers(0, 2**40))
def test_classes_are_spread(labels: list[int], seed: int) -> None:
    numbers = fold_numbers(np.array(labels), seed)
    for label in set(labels):
        counts = np.bincount(numbers[np.array(labels) == label], minlength=FOLDS)
        assert np.ptp(counts) <= 1


def test_the_seed_matters() -> None:
    labels = np.arange(50) % 3
    assert fold_numbers(labels, 0).tolist() != fold_numbers(labels, 1).tolist()
