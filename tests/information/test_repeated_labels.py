"""H(y|x) from several labels per example: expectations by listing every outcome."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.information import entropy, entropy_given_another_label, entropy_of_repeated_labels


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32), k=st.integers(2, 4), r=st.integers(2, 4))
def test_the_bias_is_what_the_docstring_says(seed, k, r):
    p = 0.8 * np.random.default_rng(seed).dirichlet(np.ones(k)) + 0.2 / k
    outcomes = np.array(list(product(range(k), repeat=r)))
    estimates = np.array([entropy_of_repeated_labels(row[None], unit="nats") for row in outcomes])
    expected = float(p[outcomes].prod(axis=1) @ estimates)
    powers = np.arange(r, 500)
    bias = -(p[:, None] * (1 - p[:, None]) ** powers / powers).sum()
    assert bias < 0
    assert expected == pytest.approx(entropy(p, unit="nats") + bias, abs=1e-9)


def test_two_labels_count_disagreement():
    labels = [[0, 0], [1, 1], [2, 0], [1, 1]]
    assert entropy_of_repeated_labels(labels, unit="nats") == pytest.approx(0.25)
    assert entropy_of_repeated_labels(labels) == pytest.approx(0.25 / np.log(2))
    assert entropy_of_repeated_labels([[3, 3, 3], [7, 7, 7]]) == 0


def test_the_truth_lies_between_the_two_estimates():
    generator = np.random.default_rng(5)
    posteriors = generator.dirichlet(np.full(6, 0.15), size=20_000)
    draws = (generator.random((20_000, 3, 1)) > posteriors.cumsum(1)[:, None]).sum(2)
    truth = entropy(posteriors).mean()
    low, high = entropy_of_repeated_labels(draws), entropy_given_another_label(draws)
    assert 0.7 * truth < low < truth < high < 2.58
    more = (generator.random((20_000, 12, 1)) > posteriors.cumsum(1)[:, None]).sum(2)
    assert low < entropy_of_repeated_labels(more) < 1.01 * truth
    assert entropy_of_repeated_labels(more) == pytest.approx(truth, rel=0.08)


def test_another_label_tells_everything_or_nothing():
    assert entropy_given_another_label([[0, 0], [1, 1], [2, 2], [3, 3]]) == pytest.approx(0)
    independent = list(product(range(4), repeat=2))
    assert entropy_given_another_label(independent) == pytest.approx(2)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 1], "shape [2]"),
        ([[0], [1]], "shape [2, 1]"),
        (np.zeros((0, 3), int), "shape [0, 3]"),
        ([[0.0, float("nan")]], "whole numbers"),
        ([[0, -1]], "≥ 0"),
    ],
)
@pytest.mark.parametrize("function", [entropy_of_repeated_labels, entropy_given_another_label])
def test_bad_input_is_one_sentence(function, labels, words):
    with pytest.raises(InputError, match="labels is") as caught:
        function(labels)
    assert words in str(caught.value)
