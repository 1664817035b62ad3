"""Entropies, their units, and equation 1 with the correction."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.information import (
    binary_entropy,
    decompose_cross_entropy,
    entropy,
    entropy_given_another_label,
    entropy_of_posteriors,
    entropy_of_repeated_labels,
    entropy_of_transition,
    from_nats,
    to_nats,
    uniform_noise_entropy,
)
from tests.information.enumerated import DRAWS, Problems, any_problems

COIN, COPY, SURE = [[0.5, 0.5]], [[[1, 0], [0, 1]]], [[[0.9, 0.1], [0.1, 0.9]]]


def uniform_matrix(p, k):
    matrix = np.full((k, k), p / (k - 1))
    np.fill_diagonal(matrix, 1 - p)
    return matrix


@given(p=st.floats(0, 1), amount=st.floats(0, 1e6), unit=st.sampled_from(["bits", "nats"]))
def test_known_values(p, amount, unit):
    assert binary_entropy(0.5) == 1
    assert entropy([0.25] * 4) == 2
    assert math.copysign(1, entropy([1, 0, 0])) == 1
    assert binary_entropy(1e-300) == pytest.approx(1e-300 * (300 * math.log2(10) + 1 / math.log(2)))
    assert entropy(np.array([[[0.5, 0.5], [1, 0]]])).tolist() == [[1, 0]]
    assert binary_entropy(p) == pytest.approx(entropy([p, 1 - p]), abs=1e-12)
    assert from_nats(to_nats(amount, unit), unit) == pytest.approx(amount)
    assert to_nats(1, "bits") == pytest.approx(math.log(2))


@given(p=st.floats(0, 1), k=st.integers(2, 12))
def test_uniform_noise_in_three_ways(p, k):
    matrix = uniform_matrix(p, k)
    expected = uniform_noise_entropy(p, k)
    assert entropy_of_transition(matrix) == pytest.approx(expected, abs=1e-12)
    assert entropy_of_posteriors(matrix[[0, 1, 1]]) == pytest.approx(expected, abs=1e-12)
    assert 0 <= expected <= np.log2(k) + 1e-12


def test_frequencies_weigh_the_rows_and_stacks_broadcast():
    pair = [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.5, 0.25]]
    assert entropy_of_transition(pair) == pytest.approx(2.5 / 3)
    assert entropy_of_transition(pair, [0.5, 0.25, 0.25]) == pytest.approx(0.25 + 0.375)
    assert entropy_of_posteriors(np.array(pair)[np.repeat([0, 1, 2], [20, 10, 10])]) == pytest.approx(0.625)
    matrices = np.stack([uniform_matrix(p, 4) for p in (0.1, 0.3)]).astype(np.float32)
    expected = uniform_noise_entropy([0.1, 0.3], 4)
    assert entropy_of_transition(matrices) == pytest.approx(expected)
    assert entropy_of_transition(matrices, [[1, 0, 0, 0], [0, 0, 0, 1]]) == pytest.approx(expected)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32), k=st.integers(2, 4), r=st.integers(2, 4))
def test_the_bias_of_repeated_labels_is_known(seed, k, r):
    p = 0.8 * np.random.default_rng(seed).dirichlet(np.ones(k)) + 0.2 / k
    outcomes = np.array(list(product(range(k), repeat=r)))
    estimates = np.array([entropy_of_repeated_labels(row[None], unit="nats") for row in outcomes])
    powers = np.arange(r, 500)
    bias = -(p[:, None] * (1 - p[:, None]) ** powers / powers).sum()
    expected = entropy(p, unit="nats") + bias
    assert float(p[outcomes].prod(axis=1) @ estimates) == pytest.approx(expected, abs=1e-9)


def test_the_truth_lies_between_the_two_estimates():
    generator = np.random.default_rng(5)
    posteriors = generator.dirichlet(np.full(6, 0.15), size=20_000)
    draws = (generator.random((20_000, 12, 1)) > posteriors.cumsum(1)[:, None]).sum(2)
    truth = entropy(posteriors).mean()
    low, high = entropy_of_repeated_labels(draws[:, :3]), entropy_given_another_label(draws[:, :3])
    assert 0.7 * truth < low < truth < high < 2.58
    assert low < entropy_of_repeated_labels(draws) == pytest.approx(truth, rel=0.08)
    assert entropy_of_repeated_labels([[0, 0], [1, 1], [2, 0], [1, 1]], unit="nats") == pytest.approx(0.25)
    assert entropy_given_another_label([[0, 0], [1, 1], [2, 2], [3, 3]]) == pytest.approx(0)
    assert entropy_given_another_label(list(product(range(4), repeat=2))) == pytest.approx(2)


@settings(max_examples=DRAWS, deadline=None)
@given(any_problems())
def test_enumerated_learners_obey_equation_1(found: Problems):
    classifier = 0.99 * found.classifier + 0.01 / found.shape.classes  # nothing is impossible
    soft = Problems(found.shape, found.example, found.data, found.learner, classifier)
    terms = decompose_cross_entropy(soft.data, soft.learner, soft.whole_classifier)
    total = terms.label_entropy - terms.label_information + terms.divergence
    assert terms.cross_entropy == pytest.approx(total, abs=1e-9)
    assert terms.label_information == pytest.approx(soft.label_information, abs=1e-9)
    assert terms.label_entropy == pytest.approx(soft.shape.examples * soft.label_entropy, abs=1e-9)
    log_f = np.log2(soft.whole_classifier).swapaxes(2, 3)  # [B, X, Y, W]
    assert terms.cross_entropy == pytest.approx(-(soft.joint * log_f).sum((1, 2, 3)), abs=1e-9)
    posterior = np.where(soft.joint > 0, soft.joint / np.maximum(soft.joint.sum(2, keepdims=True), 1e-300), 1)
    divergence = (soft.joint * (np.log2(posterior) - log_f)).sum((1, 2, 3))
    assert terms.divergence == pytest.approx(divergence, abs=1e-9)


def test_equation_1_as_printed_fails_for_a_copied_bit():
    terms = decompose_cross_entropy(COIN, COPY, SURE)
    assert terms.cross_entropy == pytest.approx(0.152, abs=5e-4)
    assert (terms.label_entropy, terms.label_information) == (1, 1)
    assert terms.divergence == pytest.approx(terms.cross_entropy)
    printed = 0.5 * np.log2(0.5 / 0.9) + 0.5 * np.log2(0.5 / 0.1)
    assert terms.label_entropy - terms.label_information + printed == pytest.approx(0.737, abs=5e-4)
    nats = decompose_cross_entropy(COIN, COPY, SURE, unit="nats")
    assert nats.cross_entropy == pytest.approx(to_nats(terms.cross_entropy, "bits"))


def test_impossible_events_cost_infinitely():
    terms = decompose_cross_entropy(COIN, COPY, [[[0, 1], [1, 0]]])
    assert (terms.cross_entropy, terms.divergence, terms.label_information) == (np.inf, np.inf, 1)
    certain = decompose_cross_entropy([[1.0, 0.0]], COPY, [[[1, 0], [1, 0]]])
    assert (certain.cross_entropy, certain.divergence, certain.label_entropy) == (0, 0, 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: entropy([0.5, 0.4]), "distribution sums to 0.9"),
        (lambda: entropy([1.5, -0.5]), "distribution contains 1.5"),
        (lambda: entropy(1.0), "shape []"),
        (lambda: entropy([[1], [0.5, 0.5]]), "distribution is [[1], [0.5, 0.5]]"),
        (lambda: binary_entropy(-0.1), "probability is -0.1"),
        (lambda: binary_entropy(0.1, unit="bytes"), "unit 'bytes'"),
        (lambda: uniform_noise_entropy(0.2, 1), "classes is 1"),
        (lambda: entropy_of_transition([[0.5, 0.5]]), "shape [1, 2]"),
        (lambda: entropy_of_transition([[1.0]]), "shape [1, 1]"),
        (lambda: entropy_of_transition(np.eye(2), [1, 0, 0]), "class_frequencies has shape [3]"),
        (lambda: entropy_of_posteriors([0.5, 0.5]), "shape [2]"),
        (lambda: entropy_of_repeated_labels([[0], [1]]), "shape [2, 1]"),
        (lambda: entropy_of_repeated_labels([[0.0, float("nan")]]), "float64"),
        (lambda: entropy_given_another_label([[0, -1]]), "≥ 0"),
        (lambda: decompose_cross_entropy(COIN, [[1, 0], [0, 1]], SURE), "learner [2, 2]"),
        (lambda: decompose_cross_entropy(COIN, COPY, [0.5, 0.5]), "classifier [2]"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(InputError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
