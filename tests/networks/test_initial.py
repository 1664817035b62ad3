import pytest
import torch

from noiselimit.networks import NETWORKS
from noiselimit.networks.initial import Role, initial_state


@pytest.fixture
def module() -> torch.nn.Module:
    return NETWORKS["small-cnn"].build((1, 8, 8), 10)


def test_a_seed_gives_the_same_weights_whatever_torchs_generator_does(module: torch.nn.Module) -> None:
    first = initial_state(module, 3, Role.CLASSIFIER)
    torch.manual_seed(99)
    again = initial_state(NETWORKS["small-cnn"].build((1, 8, 8), 10), 3, Role.CLASSIFIER)
    assert first.keys() == module.state_dict().keys()
    assert all(torch.equal(first[name], again[name]) for name in first)


def test_seeds_and_roles_differ(module: torch.nn.Module) -> None:
    base = initial_state(module, 0, Role.CLASSIFIER)["head.weight"]
    assert not torch.equal(base, initial_state(module, 1, Role.CLASSIFIER)["head.weight"])
    assert not torch.equal(base, initial_state(module, 0, Role.PREDICTOR)["head.weight"])


def test_weights_fill_the_range_of_torchs_default(module: torch.nn.Module) -> None:
    weight = initial_state(module, 0, Role.CLASSIFIER)["hidden.0.weight"]
    bound = weight.shape[1] ** -0.5
    assert weight.abs().max() <= bound
    assert weight.abs().max() > 0.99 * bound
    assert abs(float(weight.std()) - bound / 3**0.5) < 0.01 * bound


def test_no_two_tensors_share_their_draws(module: torch.nn.Module) -> None:
    state = initial_state(module, 0, Role.CLASSIFIER) | {
        f"predictor.{name}": tensor for name, tensor in initial_state(module, 0, Role.PREDICTOR).items()
    }
    starts = [
        tuple((tensor.flatten()[:8] / tensor.abs().max()).tolist())
        for name, tensor in state.items()
        if "weight" in name and tensor.dim() > 1
    ]
    assert len(set(starts)) == len(starts) == 10
