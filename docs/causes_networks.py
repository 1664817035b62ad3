"""The paper's network for MNIST, changed as docs/measure_causes.py wants it; named there by dotted path."""

from torch import nn

from noiselimit.networks.cnn import Cnn, mnist_cnn
from noiselimit.networks.dropout import relu


def other_weights(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """The network as PyTorch draws it: by the distribution that ours has, other weights for every seed."""
    return mnist_cnn(input_shape, classes)


def with_norm(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """As the predictor of the author's code has it: batch-norm on the 128 units, too."""
    network = mnist_cnn(input_shape, classes)
    assert isinstance(network, Cnn)
    network.hidden = nn.Sequential(network.hidden[0], nn.BatchNorm1d(network.head.in_features), relu(0.0))
    return network
