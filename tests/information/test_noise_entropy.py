"""H(y|x) of noise models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.information import entropy_of_posteriors, entropy_of_transition, uniform_noise_entropy


def uniform_matrix(p, k):
    matrix = np.full((k, k), p / (k - 1))
    np.fill_diagonal(matrix, 1 - p)
    return matrix


@given(p=st.floats(0, 1), k=st.integers(2, 12))
def test_uniform_noise_three_ways(p, k):
    matrix = uniform_matrix(p, k)
    expected = uniform_noise_entropy(p, k)
    assert entropy_of_transition(matrix) == pytest.approx(expected, abs=1e-12)
    assert entropy_of_posteriors(matrix[[0, 1, 1]]) == pytest.approx(expected, abs=1e-12)
    assert 0 <= expected <= np.log2(k) + 1e-12


def test_frequencies_weigh_the_rows():
    pair = [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.5, 0.25]]
    assert entropy_of_transition(pair) == pytest.approx(2.5 / 3)
    assert entropy_of_transition(pair, [0.5, 0.25, 0.25]) == pytest.approx(0.25 + 0.375)
    assert entropy_of_transition(pair, [0, 0, 1], unit="nats") == pytest.approx(1.5 * np.log(2))
    labels = np.repeat([0, 1, 2], [20, 10, 10])
    assert entropy_of_posteriors(np.array(pair)[labels]) == pytest.approx(0.625)


def test_several_at_once():
    matrices = np.stack([uniform_matrix(p, 4) for p in (0.1, 0.3)])
    assert entropy_of_transition(matrices) == pytest.approx(uniform_noise_entropy([0.1, 0.3], 4))
    found = entropy_of_transition(matrices, [[1, 0, 0, 0], [0, 0, 0, 1]])
    assert found == pytest.approx(uniform_noise_entropy([0.1, 0.3], 4))
    assert entropy_of_posteriors(matrices).shape == (2,)


def test_single_precision_will_do():
    logits = np.random.default_rng(0).normal(size=(50, 100)).astype(np.float32)
    weights = np.exp(logits)
    assert 5 < entropy_of_posteriors(weights / weights.sum(1, keepdims=True)) < np.log2(100)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: uniform_noise_entropy(1.2, 10), ("probability is 1.2",)),
        (lambda: uniform_noise_entropy(0.2, 1), ("classes is 1", "≥ 2")),
        (lambda: entropy_of_transition([[0.9, 0.2], [0, 1]]), ("transition[0] sums to 1.1",)),
        (lambda: entropy_of_transition([[0.5, 0.5]]), ("shape [1, 2]", "one row and one column")),
        (lambda: entropy_of_transition([[1.0]]), ("1 class", "at least 2")),
        (lambda: entropy_of_transition([0.5, 0.5]), ("shape [2]",)),
        (lambda: entropy_of_transition(np.eye(2), [1, 1]), ("class_frequencies sums to 2",)),
        (lambda: entropy_of_transition(np.eye(2), [1, 0, 0]), ("3 classes", "of 2")),
        (lambda: entropy_of_posteriors([0.5, 0.5]), ("shape [2]", "one row per example")),
        (lambda: entropy_of_posteriors([[np.nan, 0.5]]), ("posteriors[0, 0] is nan",)),
        (lambda: entropy_of_posteriors(np.zeros((0, 3))), ("shape [0, 3]",)),
        (lambda: entropy_of_posteriors(np.ones((4, 1))), ("1 class",)),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)
