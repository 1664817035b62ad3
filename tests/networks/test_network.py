"""Dropout: the same bits alone and stacked, independent of torch's generator."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call

from noiselimit.networks.network import Dropout, dropout_keys, relu, without_draws


def drop(share: float, keys: list[int], x: Tensor, calls: int = 0) -> Tensor:
    state = {"key": torch.tensor(keys), "calls": torch.full((len(keys),), calls)}
    return functional_call(Dropout(share), state, (x,))


@given(
    rows=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 99)), min_size=1, max_size=4),
    share=st.floats(0.0, 0.99),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_a_row_draws_the_same_bits_alone_and_stacked(
    rows: list[tuple[int, int]], share: float, shape: list[int]
) -> None:
    keys, calls = (torch.tensor(column) for column in zip(*rows, strict=True))
    inputs = torch.randn(len(rows), *shape, generator=torch.Generator().manual_seed(0))
    counted = calls.clone()
    together = functional_call(Dropout(share), {"key": keys, "calls": counted}, (inputs,))
    assert torch.equal(counted, calls + 1)
    for row in range(len(rows)):
        alone = {"key": keys[row], "calls": calls[row]}  # views, as the looped layout passes them
        assert torch.equal(functional_call(Dropout(share), alone, (inputs[row],)), together[row])
    assert torch.equal(calls, counted)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_drops_the_right_share_and_keeps_the_mean(share: float) -> None:
    out = drop(share, [3, 4], torch.ones(2, 1000, 100))
    for row in out:
        assert float((row == 0).float().mean()) == pytest.approx(share, abs=0.005)
        assert float(row.mean()) == pytest.approx(1.0, abs=0.03)
    assert abs(float(torch.corrcoef(out.flatten(1))[0, 1])) < 0.01


def test_draws_depend_on_the_key_and_the_call_only() -> None:
    ones, generator = torch.ones(1, 64), torch.get_rng_state()
    first = drop(0.5, [1], ones)
    assert torch.equal(first, drop(0.5, [1], ones))
    assert not torch.equal(first, drop(0.5, [1], ones, calls=1))
    assert not torch.equal(first, drop(0.5, [2], ones))
    assert torch.equal(generator, torch.get_rng_state())


def test_gradient_and_infinities() -> None:
    inputs = torch.randn(8, 8).requires_grad_()
    out = Dropout(0.25)(inputs)
    out.sum().backward()
    assert torch.equal(inputs.grad, (out != 0) / torch.tensor(0.75))
    assert not drop(0.5, [1], torch.full((1, 50), torch.inf)).isnan().any()


def test_every_layer_role_and_seed_has_its_own_key() -> None:
    network = nn.Sequential(relu(0.5), nn.Sequential(relu(0.1)))
    assert list(dropout_keys(network, 0, 0)) == ["0.1.key", "1.0.1.key"]
    keys = [
        int(key) for seed in (0, 1) for role in (0, 1) for key in dropout_keys(network, seed, role).values()
    ]
    assert len(set(keys)) == len(keys) == 8


def test_without_draws_keeps_other_tensors_called_key() -> None:
    attention = nn.ModuleDict({"key": nn.Linear(2, 2), "drop": Dropout(0.5)})
    assert list(without_draws(attention.state_dict())) == ["key.weight", "key.bias"]
    assert list(without_draws(Dropout(0.5).state_dict())) == []
