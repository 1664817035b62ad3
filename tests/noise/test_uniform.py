"""Uniform noise reaches the other classes only, each as often."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.examples import make_examples
from noiselimit.noise import UniformNoise, parse_noise


@given(st.floats(0, 1), st.integers(2, 12))
def test_transition(probability, classes):
    transition = UniformNoise(probability).transition([str(i) for i in range(classes)])
    off_diagonal = transition[~np.eye(classes, dtype=bool)]
    assert np.array_equal(np.diag(transition), np.full(classes, 1 - probability))
    assert np.allclose(off_diagonal, probability / (classes - 1), rtol=1e-12, atol=0)


@pytest.mark.parametrize("probability", [0.0, 0.4, 0.8, 1.0])
def test_share_of_wrong_labels(probability):
    examples = make_examples(np.zeros((20_000, 1)), np.arange(20_000) % 10)
    wrong = parse_noise(f"uniform:{probability}").apply(examples, seed=3).wrong
    assert wrong is not None
    # Five standard deviations; none at all for 0 and 1.
    assert abs(wrong.mean() - probability) <= 5 * np.sqrt(probability * (1 - probability) / 20_000)
