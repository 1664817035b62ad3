"""Dropout draws by counting: the same bits alone and stacked, whatever torch's generator does."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call

from noiselimit.draws import random_words, stream_keys
from noiselimit.errors import InputError
from noiselimit.networks.dropout import Dropout, dropout_keys, drops_units, relu, without_draws
from noiselimit.randomness import Stream


def state(*keys: int, calls: int = 0) -> dict[str, Tensor]:
    """Of stacked rows."""
    return {"key": torch.tensor(keys), "calls": torch.full((len(keys),), calls)}


def dropped(share: float, rows: dict[str, Tensor], x: Tensor) -> Tensor:
    return functional_call(Dropout(share), rows, (x,))


@given(
    keys=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
    steps=st.lists(st.integers(0, 10**9), min_size=4, max_size=4),
    count=st.integers(1, 70),
)
def test_rows_may_stand_at_steps_of_their_own(keys: list[int], steps: list[int], count: int) -> None:
    together = random_words(torch.tensor(keys), torch.tensor(steps[: len(keys)]), count)
    for row, (key, step) in enumerate(zip(keys, steps, strict=False)):
        assert torch.equal(together[row], random_words(torch.tensor([key]), torch.tensor(step), count)[0])


@given(
    rows=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 99)), min_size=1, max_size=4),
    share=st.floats(0.0, 0.99),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_a_row_drops_the_same_bits_alone_and_stacked(
    rows: list[tuple[int, int]], share: float, shape: list[int]
) -> None:
    keys, calls = (torch.tensor(column) for column in zip(*rows, strict=True))
    inputs = torch.randn(len(rows), *shape, generator=torch.Generator().manual_seed(0))
    counted = calls.clone()
    together = dropped(share, {"key": keys, "calls": counted}, inputs)
    assert torch.equal(counted, calls + 1)
    for row in range(len(rows)):
        alone = {
            "key": keys[row],
            "calls": calls[row],
        }  # 0-dimensional views, as the looped layout gives them
        assert torch.equal(dropped(share, alone, inputs[row]), together[row])
    assert torch.equal(calls, counted)  # counted in place, through the views


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_mean_is_kept_and_the_right_share_dropped(share: float) -> None:
    out = dropped(share, state(3, 4), torch.ones(2, 1000, 100))
    for row in out:
        assert float((row == 0).float().mean()) == pytest.approx(share, abs=0.005)
        assert float(row.mean()) == pytest.approx(1.0, abs=0.03)
        assert set(row.unique().tolist()) == {0.0, float(torch.tensor(1 / (1 - share)))}
    assert abs(float(torch.corrcoef(out.flatten(1))[0, 1])) < 0.01


def test_every_call_and_every_key_draws_anew_and_repeats_itself() -> None:
    ones = torch.ones(1, 64)
    first = dropped(0.5, state(1), ones)
    assert torch.equal(first, dropped(0.5, state(1), ones))
    assert not torch.equal(first, dropped(0.5, state(1, calls=1), ones))
    assert not torch.equal(first, dropped(0.5, state(2), ones))


def test_evaluation_is_the_identity_and_counts_nothing() -> None:
    layer = Dropout(0.5).eval()
    inputs = torch.randn(4, 3)
    assert layer(inputs) is inputs
    assert int(layer.calls) == 0


def test_the_gradient_passes_where_values_did_and_infinities_stay_where_they_were() -> None:
    inputs = torch.randn(8, 8).requires_grad_()
    out = Dropout(0.25)(inputs)
    out.sum().backward()
    assert inputs.grad is not None
    assert torch.equal(inputs.grad, (out != 0) / torch.tensor(0.75))
    assert not dropped(0.5, state(1), torch.full((1, 50), torch.inf)).isnan().any()


def test_torchs_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    Dropout(0.5)(torch.ones(10))
    assert torch.equal(before, torch.get_rng_state())


def test_layers_roles_and_seeds_have_keys_of_their_own() -> None:
    network = nn.Sequential(relu(0.5), nn.Sequential(relu(0.1)))
    keys = [
        int(key) for seed in (0, 1) for role in (0, 1) for key in dropout_keys(network, seed, role).values()
    ]
    assert len(set(keys)) == len(keys) == 8
    assert list(dropout_keys(network, 0, 0)) == ["0.1.key", "1.0.1.key"]
    assert int(stream_keys([0], Stream.DROPOUT, torch.device("cpu"))) not in keys


def test_a_network_drops_units_if_any_layer_does() -> None:
    assert drops_units(nn.Sequential(nn.Linear(2, 2), nn.Sequential(relu(0.1))))
    assert not drops_units(nn.Sequential(nn.Linear(2, 2), relu(0), Dropout(0)))


def test_only_draws_are_left_out_of_a_state() -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.key = nn.Linear(2, 2)
            self.drop = Dropout(0.5)

    kept = without_draws(Attention().state_dict())
    assert list(kept) == ["key.weight", "key.bias"]
    assert list(without_draws(Dropout(0.5).state_dict())) == []


@pytest.mark.parametrize("share", [1.0, -0.1, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"dropout is .*: give a number ≥ 0 and < 1"):
        Dropout(share)
