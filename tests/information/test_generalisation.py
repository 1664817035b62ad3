"""Theorem 2.2 against enumeration."""

import numpy as np
import pytest
from enumerated import DRAWS, Problems, any_problems, bits
from hypothesis import given, settings

from noiselimit.errors import InputError
from noiselimit.information import generalisation_gap, uniform_noise_entropy


@settings(max_examples=DRAWS, deadline=None)
@given(any_problems())
def test_enumerated_learners_obey_it(found: Problems):
    """The error of a prediction drawn from f lies in [0, 1], so σ = 1/2."""
    inputs, labels = np.maximum(found.input_information, 0), np.maximum(found.label_information, 0)
    weights = found.joint.sum((1, 2))
    assert inputs + labels == pytest.approx(bits(weights) + bits(found.data) - bits(found.joint), abs=1e-9)
    bound = generalisation_gap(inputs, labels, found.shape.examples)
    # Where there is no information, 1e-16 of rounding has a root of 1e-8.
    assert (np.abs(found.test_error - found.training_error) <= bound + 1e-7).all()


@settings(max_examples=10, deadline=None)
@given(any_problems())
def test_no_information_no_gap(found: Problems):
    blind = np.broadcast_to(found.learner[:, :1, :1], found.learner.shape)
    same = Problems(found.shape, found.example, found.data, blind, found.classifier)
    assert same.test_error == pytest.approx(same.training_error, abs=1e-12)
    assert generalisation_gap(0, 0, found.shape.examples) == 0


def test_the_formula_takes_nats():
    assert generalisation_gap(0, 100, 50, 0.5, unit="nats") == pytest.approx(1)
    assert generalisation_gap(60, 40, 50, 0.5, unit="nats") == pytest.approx(1)
    assert generalisation_gap(0, 100 / np.log(2), 50, 0.5) == pytest.approx(1)
    assert generalisation_gap(0, [0, 100, 400], 50, [[0.5], [1.0]], unit="nats") == pytest.approx(
        np.array([[0, 1, 2], [0, 2, 4]])
    )


def test_memorised_noise_is_a_constant_and_vacuous_at_80_percent():
    found = [generalisation_gap(0, n * uniform_noise_entropy(0.8, 10), n) for n in (10, 10**6)]
    assert found[0] == pytest.approx(found[1])
    assert found[0] > 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, 0, 10), "input_information is -1"),
        ((0, float("nan"), 10), "label_information is nan"),
        ((0, 1, 0), "examples is 0"),
        ((0, 1, 10, -0.5), "sigma is -0.5"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words):
    with pytest.raises(InputError) as caught:
        generalisation_gap(*arguments)
    assert words in str(caught.value)
