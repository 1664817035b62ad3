"""Convolutional networks: the paper's for MNIST (tab:mnist-classifier) and a small one for small images."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from noiselimit.networks.network import Network, in_float32, relu


class Cnn(nn.Module):
    """[B, channels, height, width] → logits [B, classes], features [B, 128].

    Parameters
    ----------
    layers : sequence of (filters, kernel size, stride, padding)
        One entry per convolution.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        classes: int,
        dropout: float,
        layers: Sequence[tuple[int, int, int, int]],
    ) -> None:
        super().__init__()
        modules: list[nn.Module] = []
        channels = input_shape[0]
        for filters, kernel, stride, padding in layers:
            # No bias before batch norm: its gradient would be rounding noise, which Adam amplifies.
            modules += [
                nn.Conv2d(channels, filters, kernel, stride, padding, bias=False),
                nn.BatchNorm2d(filters),
                nn.ReLU(),
            ]
            channels = filters
        self.convolutions = nn.Sequential(*modules, nn.Flatten(-3))
        with torch.no_grad():
            width = self.convolutions.eval()(torch.zeros(1, *input_shape)).shape[-1]
        self.convolutions.train()
        self.hidden = nn.Sequential(nn.Linear(width, 128), relu(dropout))
        self.head = nn.Linear(128, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = in_float32(self.hidden(self.convolutions(x)))
        return self.head(features), features


def mnist_cnn(input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> nn.Module:
    """The paper's network: four convolutions that reduce 28 × 28 pixels to one, then 128 units."""
    return Cnn(input_shape, classes, dropout, [(32, 4, 2, 1), (32, 4, 2, 1), (64, 3, 2, 0), (256, 3, 1, 0)])


def small_cnn(input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> nn.Module:
    """Three convolutions for small images such as scikit-learn's 8 × 8 digits."""
    return Cnn(input_shape, classes, dropout, [(16, 3, 1, 1), (32, 3, 2, 1), (64, 3, 2, 1)])


NETWORKS = (
    Network("mnist-cnn", mnist_cnn, takes="images", smallest_side=28),
    Network("small-cnn", small_cnn, takes="images"),
)
