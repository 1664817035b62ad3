"""Dropout whose draws are a function of (seed, role, layer, call): no global generator, nothing shared."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from noiselimit.draws import random_words
from noiselimit.errors import number
from noiselimit.randomness import Stream, step_key, stream_key


class Dropout(nn.Module):
    """Zeroes each value with probability `share`, divides the others by 1 − share; in eval mode the identity.

    Takes [B, ...] as an ordinary layer (`key` and `calls` are []) and [K, B, ...] when its rows are stacked
    (both are [K]). A row's draws are the same bits either way.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = number("dropout", share, at_least=0.0, below=1.0)
        self.register_buffer("key", torch.zeros((), dtype=torch.int64))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.key: Tensor
        """What the draws depend on besides the count of calls; see `dropout_keys`."""
        self.calls: Tensor
        """How often the layer has drawn so far."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        keys = self.key.reshape(-1)
        words = random_words(keys, self.calls.reshape(-1), x.numel() // keys.numel())
        self.calls.add_(1)
        kept = words >= round(self.share * 2**64) - 2**63  # words are uniform over the signed 64-bit numbers
        return torch.where(kept.view(x.shape), x * (1.0 / (1.0 - self.share)), 0.0)

    def extra_repr(self) -> str:
        return f"share={self.share:g}"


def relu(dropout: float) -> nn.Module:
    """ReLU, then dropout, as one layer: the names of the layers after it do not depend on dropout."""
    return nn.Sequential(nn.ReLU(), Dropout(dropout)) if dropout else nn.ReLU()


def dropout_keys(network: nn.Module, seed: int, role: int) -> dict[str, Tensor]:
    """Name → key of every dropout layer in the network, for a run's seed and the network's role."""
    layers = [path for path, module in network.named_modules() if isinstance(module, Dropout)]
    stream = stream_key(seed, Stream.DROPOUT)
    words = [step_key(stream, 2 * number + role) for number in range(len(layers))]
    return {
        f"{path}.key".lstrip("."): torch.tensor(word - 2**64 if word >= 2**63 else word)
        for path, word in zip(layers, words, strict=True)
    }


def drops_units(network: nn.Module) -> bool:
    """Whether the network lacks some of its units while it trains."""
    return any(isinstance(module, Dropout) and module.share > 0 for module in network.modules())


def without_draws(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state dict without its dropout layers' keys and counts: what another network may take over."""
    return {name: tensor for name, tensor in state.items() if not _belongs_to_dropout(name, state)}


def _belongs_to_dropout(name: str, state: Mapping[str, Tensor]) -> bool:
    last = name.rpartition(".")[2]
    path = name.removesuffix(last)
    pair = [state.get(f"{path}{part}") for part in ("key", "calls")]
    return last in ("key", "calls") and all(t is not None and t.dtype == torch.int64 for t in pair)
