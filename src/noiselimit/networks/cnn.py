"""Convolutional networks: the paper's for MNIST (tab:mnist-classifier), a small one for little pictures."""

from collections.abc import Sequence

from torch import Tensor, nn

from noiselimit.networks.dropout import relu
from noiselimit.networks.network import Network, convolution, feature_count, in_float32


class Cnn(nn.Module):
    """[B, channels, height, width] → logits [B, classes], features [B, 128]."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        classes: int,
        dropout: float,
        layers: Sequence[tuple[int, int, int, int]],
    ) -> None:
        """`layers`: filters, kernel size, stride and padding of each convolution."""
        super().__init__()
        modules: list[nn.Module] = []
        channels = input_shape[0]
        for filters, kernel, stride, padding in layers:
            modules += convolution(channels, filters, kernel=kernel, stride=stride, padding=padding)
            channels = filters
        self.convolutions = nn.Sequential(*modules, nn.Flatten(-3))
        width = feature_count(self.convolutions, input_shape)
        self.hidden = nn.Sequential(nn.Linear(width, 128), relu(dropout))
        self.head = nn.Linear(128, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = in_float32(self.hidden(self.convolutions(x)))
        return self.head(features), features


def mnist_cnn(input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> nn.Module:
    """The paper's: four convolutions that leave one pixel of 28 × 28, then 128 units."""
    return Cnn(input_shape, classes, dropout, [(32, 4, 2, 1), (32, 4, 2, 1), (64, 3, 2, 0), (256, 3, 1, 0)])


def small_cnn(input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> nn.Module:
    """Three convolutions for pictures such as scikit-learn's 8 × 8 digits."""
    return Cnn(input_shape, classes, dropout, [(16, 3, 1, 1), (32, 3, 2, 1), (64, 3, 2, 1)])


NETWORKS = (
    Network("mnist-cnn", mnist_cnn, takes="images", smallest_side=28),
    Network("small-cnn", small_cnn, takes="images"),
)
