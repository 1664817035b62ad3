"""Parameters survive packing, and rows keep their own weights when others leave."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import pad

from noiselimit.engine.block_networks import BlockNetworks, NetworkStack, Packing
from noiselimit.engine.layouts import looped
from noiselimit.engine.optimisers import OPTIMISERS, Rates
from noiselimit.engine.results import State
from noiselimit.networks import NETWORKS
from noiselimit.networks.architecture import Role, initial_state

SHAPES = st.lists(st.lists(st.integers(0, 5), min_size=0, max_size=4), min_size=0, max_size=5)
INPUTS = torch.randn(3, 6, 5, generator=torch.Generator().manual_seed(0))


@given(SHAPES, st.integers(1, 3), st.booleans())
def test_packing_round_trip(shapes: list[list[int]], rows: int, channels_last: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    states = [
        {str(i): torch.randn(shape, generator=generator) for i, shape in enumerate(shapes)}
        for _ in range(rows)
    ]
    packing, other = (Packing(states[0], channels_last=last) for last in (channels_last, not channels_last))
    vectors = packing.pack(states)
    unpacked = packing.unpack(vectors)
    assert list(unpacked) == list(states[0])
    for name, tensor in unpacked.items():
        assert torch.equal(tensor, torch.stack([state[name] for state in states]))
        if tensor.numel():
            assert (tensor.data_ptr() - vectors.data_ptr()) % (64 * 4) == 0  # each starts at a cache line
        if channels_last and tensor.dim() == 5:
            assert tensor.movedim(2, -1)[0].is_contiguous()
    assert torch.equal(packing.reordered(other.pack(states)[0], other.channels_last), vectors[0])


@given(SHAPES.filter(bool), st.booleans())
def test_the_gradient_of_the_vector_holds_those_of_the_parameters(
    shapes: list[list[int]], channels_last: bool
) -> None:
    states = [{str(i): torch.ones(shape) for i, shape in enumerate(shapes)}]
    packing = Packing(states[0], channels_last=channels_last)
    vectors = packing.pack(states).requires_grad_()
    used = dict(list(packing.unpack(vectors).items())[::2])  # the others get zeros
    (gradient,) = torch.autograd.grad(sum((int(n) + 1) * t.sum() for n, t in used.items()), [vectors])
    for name, tensor in packing.unpack(gradient).items():
        assert (tensor == (int(name) + 1 if name in used else 0)).all()


def test_parameters_keep_their_type() -> None:
    states = [{"single": torch.ones(2), "double": torch.full((3,), 1 / 3, dtype=torch.float64)}]
    packing = Packing(states[0])
    back = packing.unpack(packing.pack(states))
    assert back["single"].dtype == torch.float32
    assert torch.equal(back["double"][0], states[0]["double"])


@pytest.fixture(params=["joint", "apart"])
def pair(request: pytest.FixtureRequest) -> BlockNetworks:
    """Three rows, the first two with a predictor, in one stack or in two."""
    module = NETWORKS["mlp"].build((5,), 4)

    def stack(states: list[State]) -> NetworkStack:
        return NetworkStack(module, states, OPTIMISERS["adam"], torch.device("cpu"), looped(module))

    classifiers = [initial_state(module, seed, Role.CLASSIFIER) for seed in range(3)]
    predictors = [initial_state(module, seed, Role.PREDICTOR) for seed in range(2)]
    joint = request.param == "joint"
    stacks = [stack([*classifiers, *predictors])] if joint else [stack(classifiers), stack(predictors)]
    return BlockNetworks(stacks, 3, 2)


def step(pair: BlockNetworks, inputs: torch.Tensor) -> None:
    logits, _, predicted = pair.train(inputs)
    losses = logits.square().mean((1, 2))
    if predicted is not None:
        losses = losses + pad(predicted.square().mean((1, 2)), (0, len(losses) - len(predicted)))
    rates = [Rates.zeros(len(stack), torch.tensor(0)) for stack in pair.stacks]
    for own, rows in zip(rates, pair.rows(), strict=True):
        own.fill([(0.01, 0.0, 0.9)] * len(rows))
    pair.update(losses, rates)


def same(one: State | None, other: State | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("kept", [[0, 1, 2], [1, 2], [0], [2]])
def test_rows_that_stay_train_as_if_no_row_had_left(pair: BlockNetworks, kept: list[int]) -> None:
    everybody = copy.deepcopy(pair)
    for networks in (pair, everybody):
        step(networks, INPUTS)
    pair.select(kept)
    assert pair.predictors == sum(row < 2 for row in kept)
    step(pair, INPUTS[kept])
    step(everybody, INPUTS)
    pair.save_best(range(len(kept)))
    everybody.save_best(range(3))
    for place, row in enumerate(kept):
        assert all(map(same, pair.best_states(place), everybody.best_states(row)))
