"""Symmetric noise draws from all classes, so a share of it leaves the label right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.examples import make_examples
from noiselimit.noise import SymmetricNoise, UniformNoise


@given(st.floats(0, 1), st.integers(2, 12))
def test_transition(probability, classes):
    names = [str(number) for number in range(classes)]
    transition = SymmetricNoise(probability).transition(names)
    wanted = 1 - probability + probability / classes
    assert np.allclose(np.diag(transition), wanted, rtol=0, atol=1e-15)
    # The same as uniform noise of the share that misses the own class.
    alike = UniformNoise(min(1.0, probability * (classes - 1) / classes)).transition(names)
    assert np.allclose(transition, alike, rtol=0, atol=1e-15)


@pytest.mark.parametrize("probability", [0.0, 0.4, 1.0])
def test_share_of_wrong_labels(probability):
    examples = make_examples(np.zeros((20_000, 1)), np.arange(20_000) % 10)
    wrong = SymmetricNoise(probability).apply(examples, seed=3).wrong
    share = probability * 0.9
    assert abs(wrong.mean() - share) <= 5 * np.sqrt(share * (1 - share) / 20_000)  # five deviations
