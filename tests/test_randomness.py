"""Random numbers are functions of seed, stream, step and element, and look random."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.randomness import GOLDEN, Stream, mix, permutation, random_words, uniforms

SEEDS = st.integers(-(2**70), 2**70)
STREAMS = st.sampled_from(Stream)
STEPS = st.integers(0, 10**6)


def test_mix_is_splitmix64():
    # The known first outputs of SplitMix64 from state 1234567.
    outputs = [mix(1234567 + GOLDEN * turn) for turn in (1, 2, 3)]
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(SEEDS, STREAMS, STEPS, st.integers(0, 50), st.integers(0, 50))
def test_an_element_does_not_depend_on_the_count(seed, stream, step, few, more):
    words = random_words(seed, stream, step, few + more)
    assert np.array_equal(random_words(seed, stream, step, few), words[:few])


def test_seeds_streams_and_steps_all_count():
    keys = [(seed, stream, step) for seed in range(20) for stream in Stream for step in range(20)]
    words = np.concatenate([random_words(*key, 10) for key in keys])
    assert len(np.unique(words)) == len(words)


@pytest.mark.parametrize("stream", Stream)
def test_uniforms_have_the_moments_of_uniforms(stream):
    values = uniforms(7, stream, 0, 100_000)
    assert values.min() >= 0
    assert values.max() < 1
    for power in (1, 2, 3):  # within five standard deviations of the mean of u^power
        deviation = np.sqrt((1 / (2 * power + 1) - 1 / (power + 1) ** 2) / 100_000)
        assert abs((values**power).mean() - 1 / (power + 1)) < 5 * deviation
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 5 / np.sqrt(100_000)


def test_streams_seeds_and_steps_are_uncorrelated():
    columns = [
        uniforms(seed, stream, step, 10_000) for seed in (0, 1) for stream in Stream for step in (0, 1)
    ]
    correlations = np.corrcoef(columns) - np.eye(len(columns))
    assert np.abs(correlations).max() < 5 / np.sqrt(10_000)


@given(SEEDS, STREAMS, STEPS, st.integers(0, 200))
def test_a_permutation_has_each_element_once(seed, stream, step, count):
    order = permutation(seed, stream, step, count)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(count))
