"""Random draws on torch tensors: words, orders of examples, Gaussian and Laplace noise.

The same function of (seed, stream, step, element) as `noiselimit.randomness`, for K rows at once.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from noiselimit.randomness import GOLDEN, Stream, stream_key


def signed(word: int) -> int:
    """Return the int64 with the bits of an unsigned word."""
    return word - 2**64 if word >= 2**63 else word


def _shift(words: Tensor, bits: int) -> Tensor:
    """Logical right shift; torch's keeps the sign."""
    return (words >> bits) & ((1 << (64 - bits)) - 1)


def _mix(words: Tensor) -> Tensor:
    words = (words ^ _shift(words, 30)) * signed(0xBF58476D1CE4E5B9)
    words = (words ^ _shift(words, 27)) * signed(0x94D049BB133111EB)
    return words ^ _shift(words, 31)


def stream_keys(seeds: Sequence[int], stream: Stream, device: torch.device) -> Tensor:
    """int64 [K]: the key of this stream for each row's seed."""
    return torch.tensor(
        [signed(stream_key(seed, stream)) for seed in seeds], dtype=torch.int64, device=device
    )


def random_words(keys: Tensor, step: Tensor, count: int) -> Tensor:
    """int64 [K, count] random words; row k equals `randomness.random_words` of its seed.

    `step` is [] for all rows or [K].
    """
    return words_at(keys, step, torch.arange(count, device=keys.device))


def words_at(keys: Tensor, step: Tensor, elements: Tensor) -> Tensor:
    """The words of `random_words` at `elements` [K, m] or [m]."""
    at_step = _mix(keys + (step + 1) * signed(GOLDEN))
    return _mix(at_step[:, None] + (elements + 1) * signed(GOLDEN))


def permutations(keys: Tensor, step: Tensor, count: int) -> Tensor:
    """int64 [K, count]: a random order of 0 … count − 1 in every row."""
    return torch.argsort(_shift(random_words(keys, step, count), 1), dim=1, stable=True)


def _padded_words(keys: Tensor, step: Tensor, shape: tuple[int, int]) -> Tensor:
    """Words for [*shape], and more up to a multiple of 64, so that vector instructions treat rows alike."""
    count = math.prod(shape)
    return random_words(keys, step, count + -count % 64)


def _unit(bits23: Tensor) -> Tensor:
    """23 random bits → float32 in (0, 1), exactly."""
    return (bits23.to(torch.float32) + 0.5) * 2.0**-23


def _cut(values: Tensor, shape: tuple[int, int]) -> Tensor:
    return values[:, : math.prod(shape)].reshape(-1, *shape)


def gaussian(keys: Tensor, step: Tensor, shape: tuple[int, int]) -> Tensor:
    """float32 [K, *shape] standard normal draws (Box–Muller on the two halves of a word)."""
    words = _padded_words(keys, step, shape)
    radius = (_unit(_shift(words, 41)).log() * -2.0).sqrt()
    angle = _unit(words & 0x7FFFFF) * (2.0 * math.pi)
    return _cut(radius * angle.cos(), shape)


def laplace(keys: Tensor, step: Tensor, shape: tuple[int, int]) -> Tensor:
    """float32 [K, *shape] Laplace draws of unit variance (scale 1/√2), by inversion."""
    words = _padded_words(keys, step, shape)
    magnitude = _unit(_shift(words, 41)).log() * -math.sqrt(0.5)
    sign = (1 - 2 * (words & 1)).to(torch.float32)
    return _cut(magnitude * sign, shape)


DRAWS = {"gaussian": gaussian, "laplace": laplace}


Sampler = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(keys [K], epoch [], given labels [K, m]) → positions [K, m] among the row's training examples."""


def shuffled(keys: Tensor, epoch: Tensor, labels: Tensor) -> Tensor:
    """Every example once."""
    return permutations(keys, epoch, labels.shape[1])


def balanced(keys: Tensor, epoch: Tensor, labels: Tensor) -> Tensor:
    """Draw a class that occurs, then one of its examples, with replacement.

    Examples of rare classes come several times and some of common classes not at all.
    """
    rows, count = labels.shape
    by_class = labels.argsort(dim=1, stable=True)
    sizes = torch.zeros(rows, int(labels.max()) + 1, dtype=torch.int64, device=labels.device)
    sizes.scatter_add_(1, labels, torch.ones_like(labels))
    starts = sizes.cumsum(1) - sizes
    occurring = (sizes > 0).to(torch.int64).argsort(dim=1, descending=True, stable=True)
    words = random_words(keys, epoch, count)
    # Two disjoint groups of bits; their remainders are even enough for counts far below 2^31.
    upper, lower = (words >> 32) & 0x7FFFFFFF, words & 0x7FFFFFFF
    classes = occurring.gather(1, upper % (sizes > 0).sum(1, keepdim=True))
    return by_class.gather(1, starts.gather(1, classes) + lower % sizes.gather(1, classes))


SAMPLERS: dict[str, Sampler] = {"shuffled": shuffled, "balanced": balanced}
