import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit import InputError
from noiselimit.estimator import COPIES, MIN_VALIDATION, hold_out


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=12),
    st.floats(0, 0.9),
    st.integers(0, 2**31),
)
def test_every_class_trains_and_the_parts_are_disjoint(counts: list[int], share: float, seed: int) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    rows = np.arange(len(labels), dtype=np.float32)[:, np.newaxis]  # an input says which example it is
    data = hold_out(rows, labels, len(counts), None, share, seed).data
    assert data.validation is not None
    trained, validating = (set(part.inputs[:, 0].tolist()) for part in (data.examples, data.validation))
    assert set(data.examples.labels.tolist()) == set(range(len(counts)))
    wanted = min(round(share * len(labels)), len(labels) - len(counts))
    if wanted < MIN_VALIDATION:
        assert trained == validating == set(range(len(labels)))
    else:
        assert len(validating) == wanted
        assert not trained & validating
        assert len(trained) + len(validating) == len(labels)


def test_classes_validate_in_proportion_and_the_seed_decides_who() -> None:
    labels = np.repeat([0, 1, 2], [100, 200, 700])
    rows = np.arange(1000, dtype=np.float32)[:, np.newaxis]
    parts = [hold_out(rows, labels, 3, None, 0.2, seed).data.validation for seed in (0, 0, 1)]
    assert all(part is not None for part in parts)
    chosen = [part.inputs[:, 0].tolist() for part in parts if part is not None]
    assert chosen[0] == chosen[1] != chosen[2]
    assert parts[0] is not None
    assert np.abs(np.bincount(parts[0].labels) - [20, 40, 140]).max() <= 1


def test_weights_leave_out_and_stay_within_float32() -> None:
    labels = np.array([0, 1] * 20)
    rows = np.arange(40, dtype=np.float32)[:, np.newaxis]
    weights = np.where(np.arange(40) < 10, 0.0, 1e300 * (1 + labels))
    data = hold_out(rows, labels, 2, weights, 0.0, 0).data
    assert len(data.examples) == 30
    assert data.examples.weights is not None
    assert data.examples.weights.tolist() == pytest.approx(((1 + labels[10:]) / 2).tolist())
    with pytest.raises(InputError, match="one class with a weight above 0"):
        hold_out(rows, labels, 2, (labels == 1).astype(float), 0.2, 0)
    with pytest.raises(InputError, match="y has only one class:"):
        hold_out(rows, np.zeros(40, np.int64), 1, None, 0.2, 0)


@given(st.lists(st.integers(1, 9), min_size=3, max_size=30), st.integers(0, 2**31))
def test_examples_validate_as_often_as_they_weigh(weights: list[int], seed: int) -> None:
    """Nothing is set apart of so few, so all validate; within one copy of what the weight says."""
    labels = np.arange(len(weights)) % 2
    rows = np.arange(len(weights), dtype=np.float32)[:, np.newaxis]
    validation = hold_out(rows, labels, 2, np.array(weights, float), 0.2, seed).data.validation
    assert validation is not None
    counts = np.bincount(validation.inputs[:, 0].astype(int), minlength=len(weights))
    if len(set(weights)) == 1:
        assert set(counts.tolist()) == {1}
    else:
        assert np.abs(counts - COPIES * np.array(weights) / np.mean(weights)).max() <= 1
