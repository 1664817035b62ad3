import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit import randomness
from noiselimit.draws import DRAWS, permutations, random_words, stream_keys, words_at
from noiselimit.randomness import Stream

CPU = torch.device("cpu")


@given(
    seeds=st.lists(st.integers(0, 2**63), min_size=1, max_size=4),
    stream=st.sampled_from(list(Stream)),
    step=st.integers(0, 10**9),
    count=st.integers(1, 70),
)
def test_words_and_orders_equal_numpys(seeds: list[int], stream: Stream, step: int, count: int) -> None:
    keys = stream_keys(seeds, stream, CPU)
    words = random_words(keys, torch.tensor(step), count).numpy().view(np.uint64)
    orders = permutations(keys, torch.tensor(step), count).numpy()
    backwards = torch.arange(count - 1, -1, -1)
    some = words_at(keys, torch.tensor(step), backwards).flip(1)
    np.testing.assert_array_equal(some.numpy().view(np.uint64), words)
    for row, seed in enumerate(seeds):
        np.testing.assert_array_equal(words[row], randomness.random_words(seed, stream, step, count))
        np.testing.assert_array_equal(orders[row], randomness.permutation(seed, stream, step, count))


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


def test_every_step_draws_anew() -> None:
    keys = stream_keys([0], Stream.SAMPLING, CPU)
    first, second = (DRAWS["gaussian"](keys, torch.tensor(step), (4, 4)) for step in (0, 1))
    assert not torch.equal(first, second)
