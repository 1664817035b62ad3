"""What every network must keep; a new one is tested here the day it is written."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from noiselimit.errors import InputError
from noiselimit.networks import NETWORKS, Network, fitting_network, get_network

SHAPES = [(1, 8, 8), (1, 28, 28), (3, 32, 30), (6,)]


def fits(network: Network, shape: tuple[int, ...]) -> bool:
    try:
        network.check(shape)
    except InputError:
        return False
    return True


@pytest.fixture(params=sorted(NETWORKS))
def network(request: pytest.FixtureRequest) -> Network:
    return NETWORKS[request.param]


@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, shape) for name in sorted(NETWORKS) for shape in SHAPES if fits(NETWORKS[name], shape)],
)
def test_returns_logits_and_the_inputs_of_the_last_layer(name: str, shape: tuple[int, ...]) -> None:
    module = NETWORKS[name].build(shape, 5).eval()
    logits, features = module(torch.randn(4, *shape))
    assert logits.shape == (4, 5)
    assert features.dim() == 2
    head = list(module.modules())[-1]
    assert isinstance(head, nn.Linear)
    torch.testing.assert_close(head(features), logits)


def test_no_bias_stands_before_batch_norm(network: Network) -> None:
    shape = next(shape for shape in SHAPES if fits(network, shape))
    layers = [layer for layer in network.build(shape, 3).modules() if not list(layer.children())]
    for before, after in pairwise(layers):
        if isinstance(after, nn.BatchNorm1d | nn.BatchNorm2d):
            assert before.bias is None


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
