"""Fully connected networks: the paper's (Fig. 1), one with batch norm for feature vectors, a single layer."""

import math
from functools import partial
from itertools import pairwise

from torch import Tensor, nn

from noiselimit.networks.network import Dropout, Network, in_float32, relu


class Mlp(nn.Module):
    """[B, ...] → logits [B, classes], features [B, last width]. Without hidden layers it drops inputs."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        classes: int,
        dropout: float = 0.0,
        *,
        widths: tuple[int, ...],
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        widths = (math.prod(input_shape), *widths)
        layers: list[nn.Module] = [nn.Flatten(-len(input_shape))]
        for before, after in pairwise(widths):
            layers.append(nn.Linear(before, after, bias=not batch_norm))
            if batch_norm:
                layers.append(nn.BatchNorm1d(after))
            layers.append(relu(dropout))
        if dropout and len(widths) == 1:
            layers.append(Dropout(dropout))
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = in_float32(self.body(x))
        return self.head(features), features


NETWORKS = (
    Network("linear", partial(Mlp, widths=())),
    Network("mlp", partial(Mlp, widths=(256,) * 2, batch_norm=True)),
    Network("mlp-4x512", partial(Mlp, widths=(512,) * 4)),
)
