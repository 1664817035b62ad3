"""Random numbers are functions of seed, stream, step and element, and look random."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.randomness import (
    DRAWS,
    GOLDEN,
    SAMPLERS,
    Stream,
    balanced,
    mix,
    permutation,
    permutations,
    random_words,
    row_words,
    stream_keys,
    uniforms,
    words_at,
)

SEEDS = st.integers(-(2**70), 2**70)
STREAMS = st.sampled_from(Stream)
STEPS = st.integers(0, 10**6)
CPU = torch.device("cpu")
KEYS = stream_keys([0, 1], Stream.ORDER, CPU)


def test_mix_is_splitmix64():
    # The known first outputs of SplitMix64 from state 1234567.
    outputs = [mix(1234567 + GOLDEN * turn) for turn in (1, 2, 3)]
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(SEEDS, STREAMS, STEPS, st.integers(0, 50), st.integers(0, 50))
def test_an_element_does_not_depend_on_the_count(seed, stream, step, few, more):
    words = random_words(seed, stream, step, few + more)
    assert np.array_equal(random_words(seed, stream, step, few), words[:few])


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


@given(
    seeds=st.lists(st.integers(0, 2**63), min_size=1, max_size=4),
    stream=st.sampled_from(list(Stream)),
    step=st.integers(0, 10**9),
    count=st.integers(1, 70),
)
def test_words_and_orders_equal_numpys(seeds: list[int], stream: Stream, step: int, count: int) -> None:
    keys = stream_keys(seeds, stream, CPU)
    words = row_words(keys, torch.tensor(step), count).numpy().view(np.uint64)
    orders = permutations(keys, torch.tensor(step), count).numpy()
    backwards = torch.arange(count - 1, -1, -1)
    some = words_at(keys, torch.tensor(step), backwards).flip(1)
    np.testing.assert_array_equal(some.numpy().view(np.uint64), words)
    for row, seed in enumerate(seeds):
        np.testing.assert_array_equal(words[row], random_words(seed, stream, step, count))
        np.testing.assert_array_equal(orders[row], permutation(seed, stream, step, count))


@pytest.mark.parametrize(("name", "fourth_moment"), [("gaussian", 3.0), ("laplace", 6.0)])
def test_draws_have_zero_mean_unit_variance_and_the_right_tails(name: str, fourth_moment: float) -> None:
    draws = DRAWS[name](stream_keys([0, 1], Stream.SAMPLING, CPU), torch.tensor(5), (1000, 500)).double()
    assert draws.shape == (2, 1000, 500)
    for row in draws:
        assert abs(row.mean()) < 0.005
        assert abs(row.square().mean() - 1) < 0.01
        assert abs((row**3).mean()) < 0.05
        assert abs((row**4).mean() - fourth_moment) < 0.03 * fourth_moment
    assert abs((draws[0] * draws[1]).mean()) < 0.005


@pytest.mark.parametrize("name", sorted(DRAWS))
@given(seeds=st.lists(st.integers(0, 1000), min_size=2, max_size=5), batch=st.integers(1, 40))
def test_a_rows_draws_do_not_depend_on_its_neighbours(name: str, seeds: list[int], batch: int) -> None:
    together = DRAWS[name](stream_keys(seeds, Stream.SAMPLING, CPU), torch.tensor(9), (batch, 7))
    for row, seed in enumerate(seeds):
        alone = DRAWS[name](stream_keys([seed], Stream.SAMPLING, CPU), torch.tensor(9), (batch, 7))
        assert torch.equal(alone[0], together[row])


def test_balanced_draws_every_class_equally_often_and_its_members_evenly() -> None:
    labels = torch.tensor([[0] * 9000 + [2] * 900 + [3] * 100, [1] * 5000 + [2] * 5000])
    counts, hits = torch.zeros(2, 4), torch.zeros(10_000)
    for epoch in range(1, 11):
        order = balanced(KEYS, torch.tensor(epoch), labels)
        assert order.shape == labels.shape
        drawn = labels.gather(1, order)
        for row in range(2):
            counts[row] += drawn[row].bincount(minlength=4)
        hits += order[0].bincount(minlength=10_000)
    shares = counts / counts.sum(1, keepdim=True)
    torch.testing.assert_close(shares, torch.tensor([[1, 0, 1, 1], [0, 1.5, 1.5, 0]]) / 3, atol=0.01, rtol=0)
    rare = hits[9900:]  # 100 examples that share a third of 100,000 draws: 333 each
    assert 250 < rare.min() < rare.max() < 420


@given(labels=st.lists(st.integers(0, 3), min_size=1, max_size=20), epoch=st.integers(1, 9))
def test_a_rows_order_does_not_depend_on_its_neighbours(labels: list[int], epoch: int) -> None:
    for sampler in SAMPLERS.values():
        both = torch.tensor([labels, labels[::-1]])
        together = sampler(KEYS, torch.tensor(epoch), both)
        assert torch.equal(together[1:], sampler(KEYS[1:], torch.tensor(epoch), both[1:]))
