"""Fully connected networks: the paper's (Fig. 1), one with batch norm for feature vectors, a single layer."""

import math
from itertools import pairwise

from torch import Tensor, nn

from noiselimit.networks.network import Dropout, Network, in_float32, relu


class Mlp(nn.Module):
    """[B, ...] → logits [B, classes], features [B, width]."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        classes: int,
        dropout: float,
        *,
        width: int,
        depth: int,
        batch_norm: bool,
    ) -> None:
        super().__init__()
        widths = [math.prod(input_shape)] + [width] * depth
        layers: list[nn.Module] = [nn.Flatten(-len(input_shape))]
        for before, after in pairwise(widths):
            layers.append(nn.Linear(before, after, bias=not batch_norm))
            if batch_norm:
                layers.append(nn.BatchNorm1d(after))
            layers.append(relu(dropout))
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = in_float32(self.body(x))
        return self.head(features), features


class Linear(nn.Module):
    """[B, ...] → logits [B, classes], features [B, F], which are the flattened inputs."""

    def __init__(self, input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(-len(input_shape)), *([Dropout(dropout)] if dropout else []))
        self.head = nn.Linear(math.prod(input_shape), classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = in_float32(self.body(x))
        return self.head(features), features


def feature_mlp(input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> nn.Module:
    """Two layers of 256 units with batch norm, for rows of a table."""
    return Mlp(input_shape, classes, dropout, width=256, depth=2, batch_norm=True)


def paper_mlp(input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> nn.Module:
    """Four layers of 512 ReLU units, as in the paper's Fig. 1."""
    return Mlp(input_shape, classes, dropout, width=512, depth=4, batch_norm=False)


NETWORKS = (
    Network("linear", Linear, takes="anything"),
    Network("mlp", feature_mlp, takes="anything"),
    Network("mlp-4x512", paper_mlp, takes="anything"),
)
