"""Rows keep what is theirs: weights, best epochs and predictors, whoever leaves."""

import pytest
import torch

from noiselimit.engine.layouts import looped
from noiselimit.engine.optimisers import OPTIMISERS, Rates
from noiselimit.engine.pair import NetworkPair
from noiselimit.engine.rows import NetworkRows, State
from noiselimit.networks import NETWORKS
from noiselimit.networks.architecture import Role, initial_state

CPU = torch.device("cpu")
INPUTS = torch.randn(3, 6, 5, generator=torch.Generator().manual_seed(0))


def rates(rows: int, step: int = 0) -> Rates:
    ones = torch.ones(rows, dtype=torch.float64)
    return Rates(0.01 * ones, 0.0 * ones, 0.9 * ones, torch.tensor(step))


@pytest.fixture(params=["joint", "apart"])
def pair(request: pytest.FixtureRequest) -> NetworkPair:
    """Three rows, of which the first two have a predictor; built alike, in one stack or in two."""
    module = NETWORKS["mlp"].build((5,), 4)

    def stack(states: list[State]) -> NetworkRows:
        return NetworkRows(module, states, OPTIMISERS["adam"], CPU, looped(module))

    said = [initial_state(module, seed, Role.CLASSIFIER) for seed in range(3)]
    predicted = [initial_state(module, seed, Role.PREDICTOR) for seed in range(2)]
    stacks = [stack([*said, *predicted])] if request.param == "joint" else [stack(said), stack(predicted)]
    return NetworkPair(stacks, 3, 2)


def step(pair: NetworkPair, inputs: torch.Tensor) -> None:
    logits, _, predicted = pair.train(inputs)
    losses = logits.square().mean((1, 2))
    if predicted is not None:
        losses = losses + torch.nn.functional.pad(
            predicted.square().mean((1, 2)), (0, len(losses) - len(predicted))
        )
    pair.update(losses, pair.rates(rates(len(losses))))


def test_a_step_changes_current_weights_and_remember_the_best_of_those_rows(pair: NetworkPair) -> None:
    before = [pair.best_states(row) for row in range(3)]
    step(pair, INPUTS)
    pair.save_best([1])
    after = [pair.best_states(row) for row in range(3)]
    for row in (0, 1, 2):
        for old, new in zip(before[row], after[row], strict=True):
            assert (old is None) == (new is None)
            if old is not None and new is not None:
                same = all(torch.equal(old[name], new[name]) for name in old)
                assert same == (row != 1)
    assert after[2][1] is None


def test_probabilities_of_some_rows_are_those_of_all(pair: NetworkPair) -> None:
    step(pair, INPUTS)
    everybody = pair.probabilities(INPUTS, [0, 1, 2], best=False)
    assert everybody[1] is not None
    assert everybody[1].shape == (2, 6, 4)
    said, predicted = pair.probabilities(INPUTS[[1, 2]], [1, 2], best=False)
    assert predicted is not None
    assert torch.equal(said, everybody[0][[1, 2]])
    assert torch.equal(predicted, everybody[1][[1]])
    assert pair.probabilities(INPUTS[[2]], [2], best=False)[1] is None
    best, _ = pair.probabilities(INPUTS, [0, 1, 2], best=True)
    assert not torch.equal(best, everybody[0])


@pytest.mark.parametrize("kept", [[0, 1, 2], [1, 2], [0], [2]])
def test_rows_that_stay_go_on_as_if_nobody_had_left(pair: NetworkPair, kept: list[int]) -> None:
    import copy

    everybody = copy.deepcopy(pair)
    step(pair, INPUTS)
    step(everybody, INPUTS)
    pair.select(kept)
    assert pair.predictors == sum(row < 2 for row in kept)
    step(pair, INPUTS[kept])
    step(everybody, INPUTS)
    pair.save_best(range(len(kept)))
    everybody.save_best(range(3))
    for place, row in enumerate(kept):
        for ours, theirs in zip(pair.best_states(place), everybody.best_states(row), strict=True):
            assert (ours is None) == (theirs is None)
            if ours is not None and theirs is not None:
                assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_weight_that_is_not_finite_is_seen_in_its_row(pair: NetworkPair) -> None:
    assert pair.finite().tolist() == [True, True, True]
    with torch.no_grad():
        pair.stacks[-1].weights[-1, 0] = torch.inf  # of the second row's predictor
        pair.stacks[0].weights[2, 0] = torch.nan
    assert pair.finite().tolist() == [True, False, False]
