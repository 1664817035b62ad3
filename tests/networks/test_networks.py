"""What every network must keep; a new one is tested here the day it is written."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from noiselimit.errors import InputError
from noiselimit.networks import NETWORKS, Architecture, Network, Role, fitting_network, get_network
from noiselimit.networks.dropout import Dropout, without_draws
from noiselimit.networks.network import head_of

SHAPES = [(1, 8, 8), (1, 28, 28), (3, 32, 30), (6,)]


def fits(network: Network, shape: tuple[int, ...]) -> bool:
    try:
        network.check(shape)
    except InputError:
        return False
    return True


def smallest(network: Network) -> tuple[int, ...]:
    return next(shape for shape in [*SHAPES, (3, 32, 32)] if fits(network, shape))


@pytest.fixture(params=sorted(NETWORKS))
def network(request: pytest.FixtureRequest) -> Network:
    return NETWORKS[request.param]


@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, shape) for name in sorted(NETWORKS) for shape in SHAPES if fits(NETWORKS[name], shape)],
)
def test_returns_logits_and_the_inputs_of_the_last_layer(name: str, shape: tuple[int, ...]) -> None:
    module = NETWORKS[name].build(shape, 5).eval()
    logits, features = module(torch.randn(2, *shape))
    assert logits.shape == (2, 5)
    assert features.dim() == 2
    head = head_of(module)
    assert head is not None
    torch.testing.assert_close(features @ head.weight.T + head.bias, logits)


def test_no_bias_stands_before_batch_norm(network: Network) -> None:
    layers = [layer for layer in network.build(smallest(network), 3).modules() if not list(layer.children())]
    for before, after in pairwise(layers):
        if isinstance(after, nn.BatchNorm1d | nn.BatchNorm2d):
            assert before.bias is None


def test_the_gradient_reaches_every_parameter(network: Network) -> None:
    shape = smallest(network)
    architecture = Architecture(network.name)
    module = architecture.build(shape, 3)
    module.load_state_dict(architecture.initial_state(shape, 3, 0, Role.CLASSIFIER))
    logits, _ = module(torch.randn(6, *shape, generator=torch.Generator().manual_seed(0)))
    logits.square().sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in module.parameters())


def test_a_head_without_bias_is_the_only_difference_it_makes(network: Network) -> None:
    shape = smallest(network)
    usual, bare = (Architecture(network.name, head_bias=bias) for bias in (True, False))
    bare.check(shape, 3)
    head = head_of(bare.build(shape, 3))
    assert head is not None
    assert head.bias is None
    with_bias = usual.initial_state(shape, 3, 1, Role.CLASSIFIER)
    without = bare.initial_state(shape, 3, 1, Role.CLASSIFIER)
    assert with_bias.keys() - without.keys() in ({"head.bias"}, {"fc.bias"})
    assert all(torch.equal(with_bias[name], tensor) for name, tensor in without.items())


def test_dropout_adds_its_draws_and_changes_nothing_else(network: Network) -> None:
    shape = smallest(network)
    dropping = Architecture(network.name, dropout=0.5)
    module = dropping.build(shape, 3)
    assert any(isinstance(layer, Dropout) for layer in module.modules())
    state = dropping.initial_state(shape, 3, 2, Role.PREDICTOR)
    plain = Architecture(network.name).initial_state(shape, 3, 2, Role.PREDICTOR)
    left = without_draws(state)
    assert list(left) == list(plain)
    assert len(left) < len(state)
    assert all(torch.equal(left[name], tensor) for name, tensor in plain.items())

    module.load_state_dict(state)
    inputs = torch.randn(6, *shape, generator=torch.Generator().manual_seed(0))
    logits, features = module.train()(inputs)
    head = head_of(module)
    assert head is not None
    torch.testing.assert_close(head(features), logits)
    assert 0.2 < float((features == 0).float().mean()) < 0.9
    undropped = Architecture(network.name).build(shape, 3)
    undropped.load_state_dict(plain)
    module.load_state_dict(state)  # as before the training step, which moved batch-norm's statistics
    assert torch.equal(module.eval()(inputs)[0], undropped.eval()(inputs)[0])


@pytest.mark.parametrize(
    ("name", "shape", "weights", "names"),
    [
        ("mnist-cnn", (1, 28, 28), (-0.04152031987905502, 0.005592423491179943), 28),
        ("small-cnn", (1, 8, 8), (0.05435200035572052, 0.05423339083790779), 22),
        ("mlp", (6,), (0.031700119376182556, -0.010298648849129677), 14),
        ("mlp-4x512", (6,), (-0.012441230937838554, -0.0037185754626989365), 10),
    ],
)
def test_old_runs_stay_what_they_were(
    name: str, shape: tuple[int, ...], weights: tuple[float, ...], names: int
) -> None:
    """The first weights of the head, drawn last, as the first version drew them."""
    state = Architecture(name).initial_state(shape, 5, 7, Role.PREDICTOR)
    assert state["head.weight"][0, :2].tolist() == pytest.approx(weights, rel=1e-6)
    assert len(state) == names


def test_the_mnist_network_is_the_papers() -> None:
    """Counted from tab:mnist-classifier: convolutions without bias, two parameters per batch-norm channel."""
    convolutions = 32 * 16 + 32 * 32 * 16 + 64 * 32 * 9 + 256 * 64 * 9
    norms = 2 * (32 + 32 + 64 + 256)
    dense = 256 * 128 + 128 + 128 * 10 + 10
    module = NETWORKS["mnist-cnn"].build((1, 28, 28), 10)
    assert sum(parameter.numel() for parameter in module.parameters()) == convolutions + norms + dense


def test_the_papers_mlp_has_four_layers_of_512_and_no_batch_norm() -> None:
    module = NETWORKS["mlp-4x512"].build((1, 28, 28), 10)
    widths = [layer.out_features for layer in module.modules() if isinstance(layer, nn.Linear)]
    assert widths == [512, 512, 512, 512, 10]
    assert not any(isinstance(layer, nn.BatchNorm1d) for layer in module.modules())


@pytest.mark.parametrize("name", ["mlp", "mlp-4x512"])
def test_an_mlp_drops_after_every_hidden_layer(name: str) -> None:
    module = NETWORKS[name].build((6,), 3, 0.2)
    kinds = [type(layer) for layer in module.modules() if not list(layer.children())]
    assert kinds.count(Dropout) == kinds.count(nn.ReLU) == kinds.count(nn.Linear) - 1
    assert all(after is Dropout for before, after in pairwise(kinds) if before is nn.ReLU)


def test_linear_is_one_matrix() -> None:
    module = NETWORKS["linear"].build((2, 3), 4)
    assert {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()} == {
        "head.weight": (4, 6),
        "head.bias": (4,),
    }


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_auto_always_fits(shape: tuple[int, ...]) -> None:
    get_network(fitting_network(shape)).check(shape)


def test_unfit_inputs_are_refused_before_training() -> None:
    with pytest.raises(
        InputError, match="takes images, but the inputs are vectors of 6 features: choose 'mlp'"
    ):
        NETWORKS["small-cnn"].check((6,))
    with pytest.raises(InputError, match="at least 28 × 28"):
        NETWORKS["mnist-cnn"].check((1, 8, 8))
    with pytest.raises(InputError, match="did you mean 'mnist-cnn'"):
        get_network("mnist_cnn")
