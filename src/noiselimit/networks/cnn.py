"""Convolutional networks: the paper's for MNIST (tab:mnist-classifier) and a small one for small images."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from noiselimit.networks.network import Network, in_float32, relu


class Cnn(nn.Module):
    """[B, channels, height, width] → logits [B, classes], features [B, 128].

    Each convolution in `layers` is (filters, kernel size, stride, padding).
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        classes: int,
        dropout: float = 0.0,
        *,
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


# Four convolutions reduce 28 × 28 pixels to one, as in the paper.
MNIST = ((32, 4, 2, 1), (32, 4, 2, 1), (64, 3, 2, 0), (256, 3, 1, 0))
SMALL = ((16, 3, 1, 1), (32, 3, 2, 1), (64, 3, 2, 1))

NETWORKS = (
    Network("mnist-cnn", partial(Cnn, layers=MNIST), smallest_side=28),
    Network("small-cnn", partial(Cnn, layers=SMALL), smallest_side=1),
)
