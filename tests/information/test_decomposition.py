"""Equation 1 with the correction, against definitions written out once more."""

import numpy as np
import pytest
from enumerated import DRAWS, Problems, any_problems
from hypothesis import given, settings

from noiselimit.errors import InputError
from noiselimit.information import decompose_cross_entropy, to_nats

COIN, COPY, SURE = [[0.5, 0.5]], [[[1, 0], [0, 1]]], [[[0.9, 0.1], [0.1, 0.9]]]


@settings(max_examples=DRAWS, deadline=None)
@given(any_problems())
def test_enumerated_learners_obey_it(found: Problems):
    classifier = 0.99 * found.classifier + 0.01 / found.shape.classes  # nothing is impossible
    soft = Problems(found.shape, found.example, found.data, found.learner, classifier)
    terms = decompose_cross_entropy(soft.data, soft.learner, soft.whole_classifier)
    assert terms.cross_entropy == pytest.approx(
        terms.label_entropy - terms.label_information + terms.divergence, abs=1e-9
    )
    assert terms.label_information == pytest.approx(soft.label_information, abs=1e-9)
    assert terms.label_entropy == pytest.approx(soft.shape.examples * soft.label_entropy, abs=1e-9)
    said = np.log2(soft.whole_classifier).swapaxes(2, 3)  # [B, X, Y, W]
    assert terms.cross_entropy == pytest.approx(-(soft.joint * said).sum((1, 2, 3)), abs=1e-9)
    joint = soft.joint
    with np.errstate(divide="ignore", invalid="ignore"):
        known = np.log2(joint / joint.sum(2, keepdims=True))
        divergence = np.where(joint > 0, joint * (known - said), 0).sum((1, 2, 3))
    assert terms.divergence == pytest.approx(divergence, abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(any_problems())
def test_a_classifier_that_knows_the_posterior_has_no_divergence(found: Problems):
    total = found.joint.sum(2, keepdims=True)
    posterior = np.where(total > 0, found.joint / np.where(total > 0, total, 1), 1 / found.data.shape[2])
    terms = decompose_cross_entropy(found.data, found.learner, posterior.swapaxes(2, 3))
    assert terms.divergence == pytest.approx(0, abs=1e-9)
    assert terms.cross_entropy == pytest.approx(terms.label_entropy - terms.label_information, abs=1e-9)


def test_as_printed_it_fails_for_a_copied_bit():
    terms = decompose_cross_entropy(COIN, COPY, SURE)
    assert terms.cross_entropy == pytest.approx(0.152, abs=5e-4)
    assert (terms.label_entropy, terms.label_information) == (1, 1)
    assert terms.divergence == pytest.approx(terms.cross_entropy)
    printed = 0.5 * np.log2(0.5 / 0.9) + 0.5 * np.log2(0.5 / 0.1)
    assert terms.label_entropy - terms.label_information + printed == pytest.approx(0.737, abs=5e-4)
    nats = decompose_cross_entropy(COIN, COPY, SURE, unit="nats")
    assert nats.cross_entropy == pytest.approx(to_nats(terms.cross_entropy, "bits"))


def test_what_was_called_impossible_costs_infinitely():
    terms = decompose_cross_entropy(COIN, COPY, [[[0, 1], [1, 0]]])
    assert (terms.cross_entropy, terms.divergence) == (np.inf, np.inf)
    assert terms.label_information == 1
    certain = decompose_cross_entropy([[1.0, 0.0]], COPY, [[[1, 0], [1, 0]]])
    assert (certain.cross_entropy, certain.divergence, certain.label_entropy) == (0, 0, 0)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (([[0.5, 0.6]], COPY, SURE), "data sums to 1.1"),
        ((COIN, [[[1, 0], [0, 0.5]]], SURE), "learner[0, 1] sums to 0.5"),
        ((COIN, COPY, [[[1, 1], [0, 1]]]), "classifier[0, 0] sums to 2"),
        ((COIN, [[1, 0], [0, 1]], SURE), "learner [2, 2]"),
        (([[0.25] * 4], COPY, SURE), "data [1, 4]"),
        (([0.5, 0.5], COPY, SURE), "shape [2]"),
    ],
)
def test_bad_input_is_one_sentence(tables, words):
    with pytest.raises(InputError) as caught:
        decompose_cross_entropy(*tables)
    assert words in str(caught.value)
