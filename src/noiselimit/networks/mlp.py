"""Multi-layer perceptrons: the paper's for pictures (Fig. 1), and one with batch-norm for feature vectors."""

import math
from itertools import pairwise

from torch import Tensor, nn

from noiselimit.networks.dropout import relu
from noiselimit.networks.network import Network, in_float32


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
            # Batch-norm has its own shift: a bias before it would get a gradient of pure rounding noise.
            layers.append(nn.Linear(before, after, bias=not batch_norm))
            if batch_norm:
                layers.append(nn.BatchNorm1d(after))
            layers.append(relu(dropout))
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = in_float32(self.body(x))
        return self.head(features), features


def feature_mlp(input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> nn.Module:
    """Two layers of 256 with batch-norm, for rows of a table."""
    return Mlp(input_shape, classes, dropout, width=256, depth=2, batch_norm=True)


def paper_mlp(input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> nn.Module:
    """Four layers of 512 ReLU units and nothing else, as the paper's Fig. 1 names it."""
    return Mlp(input_shape, classes, dropout, width=512, depth=4, batch_norm=False)


NETWORKS = (
    Network("mlp", feature_mlp, takes="anything"),
    Network("mlp-4x512", paper_mlp, takes="anything"),
)
