"""A single layer, the natural predictor on frozen features."""

import math

from torch import Tensor, nn

from noiselimit.networks.dropout import Dropout
from noiselimit.networks.network import Network, in_float32


class Linear(nn.Module):
    """[B, ...] → logits [B, classes], features [B, F]: the inputs themselves, flattened."""

    def __init__(self, input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(-len(input_shape)), *([Dropout(dropout)] if dropout else []))
        self.head = nn.Linear(math.prod(input_shape), classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = in_float32(self.body(x))
        return self.head(features), features


NETWORKS = (Network("linear", Linear, takes="anything"),)
