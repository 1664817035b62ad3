"""Entropies and their units."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.information import binary_entropy, entropy, from_nats, to_nats


def test_known_values():
    assert binary_entropy(0.5) == 1
    assert binary_entropy(0.5, unit="nats") == pytest.approx(math.log(2))
    assert entropy([0.25] * 4) == 2
    assert entropy([1, 0, 0]) == 0
    assert math.copysign(1, entropy([1, 0, 0])) == 1
    assert binary_entropy([0, 1]).tolist() == [0, 0]
    assert binary_entropy(1e-300) == pytest.approx(1e-300 * (300 * math.log2(10) + 1 / math.log(2)))


@given(p=st.floats(0, 1))
def test_a_coin_is_a_distribution(p):
    assert binary_entropy(p) == pytest.approx(entropy([p, 1 - p]), abs=1e-12)
    assert 0 <= binary_entropy(p) <= 1


def test_the_last_axis_is_summed():
    found = entropy(np.array([[[0.5, 0.5], [1, 0]]]))
    assert found.tolist() == [[1, 0]]


@given(amount=st.floats(0, 1e6), unit=st.sampled_from(["bits", "nats"]))
def test_units_there_and_back(amount, unit):
    assert from_nats(to_nats(amount, unit), unit) == pytest.approx(amount)


def test_a_bit_is_less_than_a_nat():
    assert to_nats(1, "bits") == pytest.approx(0.6931, abs=1e-4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: entropy([0.5, 0.4]), ("distribution sums to 0.9", "sum to 1")),
        (lambda: entropy([[0.5, 0.5], [0.5, 0.6]]), ("distribution[1] sums to 1.1",)),
        (lambda: entropy([1.5, -0.5]), ("distribution[0] is 1.5", "0 to 1")),
        (lambda: entropy([float("nan"), 1]), ("distribution[0] is nan",)),
        (lambda: entropy(1.0), ("shape []",)),
        (lambda: entropy([]), ("shape [0]",)),
        (lambda: entropy([[1], [0.5, 0.5]]), ("distribution is [[1], [0.5, 0.5]]",)),
        (lambda: binary_entropy(-0.1), ("probability is -0.1", "0 to 1")),
        (lambda: binary_entropy(0.1, unit="bytes"), ("unit 'bytes'", "bits")),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)
