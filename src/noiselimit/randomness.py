"""Random numbers as functions of (seed, stream, step, element), so there is no state to save.

Each word is the SplitMix64 mix of a counter under a key. Any element can be drawn alone, in any order and on
any device. The second half of this page computes the same numbers on torch tensors, for K rows at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # data and noise are read without torch
    import torch
    from torch import Tensor

GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: the increment of SplitMix64
MASK = 0xFFFFFFFFFFFFFFFF


class Stream(IntEnum):
    """What a random number is for. Streams of one seed are independent; results depend on these values."""

    SPLIT = 1
    NOISE = 2
    WEIGHTS = 3
    ORDER = 4
    AUGMENTATION = 5
    SAMPLING = 6
    DROPOUT = 7


def mix(value: int) -> int:
    """SplitMix64's finaliser, a bijection of 64-bit words."""
    value &= MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def stream_key(seed: int, stream: Stream) -> int:
    """The 64-bit key of one stream of one seed."""
    return mix(mix(seed + GOLDEN) + GOLDEN * int(stream))


def step_key(key: int, step: int) -> int:
    """The key of one step (an epoch, a parameter's number, a training step) within a stream."""
    return mix(key + GOLDEN * (step + 1))


def random_words(seed: int, stream: Stream, step: int, count: int) -> npt.NDArray[np.uint64]:
    """`count` independent 64-bit words; element i is the same whatever `count` is."""
    key = np.uint64(step_key(stream_key(seed, stream), step))
    value = key + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def uniforms(seed: int, stream: Stream, step: int, count: int) -> npt.NDArray[np.float64]:
    """`count` independent uniforms in [0, 1)."""
    return (random_words(seed, stream, step, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def permutation(seed: int, stream: Stream, step: int, count: int) -> npt.NDArray[np.int64]:
    """A random order of 0 … count − 1: the elements sorted by the upper 63 bits of their random words."""
    # Without the sign bit, because torch sorts signed words only.
    upper = (random_words(seed, stream, step, count) >> np.uint64(1)).astype(np.int64)
    return np.argsort(upper, kind="stable").astype(np.int64)


# The same on torch tensors --------------------------------------------------------------------------------


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
    import torch

    return torch.tensor(
        [signed(stream_key(seed, stream)) for seed in seeds], dtype=torch.int64, device=device
    )


def row_words(keys: Tensor, step: Tensor, count: int, first: int = 0) -> Tensor:
    """int64 [K, count] random words from the first on; row k equals `random_words` of its seed.

    `step` is [] for all rows or [K].
    """
    import torch

    return words_at(keys, step, torch.arange(first, first + count, device=keys.device))


def words_at(keys: Tensor, step: Tensor, elements: Tensor) -> Tensor:
    """The words of `row_words` at `elements` [K, m] or [m]."""
    at_step = _mix(keys + (step + 1) * signed(GOLDEN))
    return _mix(at_step[:, None] + (elements + 1) * signed(GOLDEN))


def permutations(keys: Tensor, step: Tensor, count: int) -> Tensor:
    """int64 [K, count]: a random order of 0 … count − 1 in every row."""
    return _shift(row_words(keys, step, count), 1).argsort(dim=1, stable=True)


def _padded_words(keys: Tensor, step: Tensor, shape: tuple[int, int]) -> Tensor:
    """Words for [*shape], and more up to a multiple of 64, so that vector instructions treat rows alike."""
    count = math.prod(shape)
    return row_words(keys, step, count + -count % 64)


def _unit(bits23: Tensor) -> Tensor:
    """23 random bits → float32 in (0, 1), exactly."""
    return (bits23.float() + 0.5) * 2.0**-23


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
    sign = (1 - 2 * (words & 1)).float()
    return _cut(magnitude * sign, shape)


DRAWS = {"gaussian": gaussian, "laplace": laplace}


def shuffled(keys: Tensor, epoch: Tensor, labels: Tensor) -> Tensor:
    """Every example once."""
    return permutations(keys, epoch, labels.shape[1])


def balanced(keys: Tensor, epoch: Tensor, labels: Tensor) -> Tensor:
    """Draw a class that occurs, then one of its examples, with replacement.

    Examples of rare classes come several times and some of common classes not at all.
    """
    import torch

    rows, count = labels.shape
    by_class = labels.argsort(dim=1, stable=True)
    sizes = torch.zeros(rows, int(labels.max()) + 1, dtype=torch.int64, device=labels.device)
    sizes.scatter_add_(1, labels, torch.ones_like(labels))
    starts = sizes.cumsum(1) - sizes
    occurring = (sizes > 0).to(torch.int64).argsort(dim=1, descending=True, stable=True)
    words = row_words(keys, epoch, count)
    # Two disjoint groups of bits; their remainders are even enough for counts far below 2^31.
    upper, lower = (words >> 32) & 0x7FFFFFFF, words & 0x7FFFFFFF
    classes = occurring.gather(1, upper % (sizes > 0).sum(1, keepdim=True))
    return by_class.gather(1, starts.gather(1, classes) + lower % sizes.gather(1, classes))


SAMPLERS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {"shuffled": shuffled, "balanced": balanced}
"""Name → (keys [K], epoch [], given labels [K, m]) → positions [K, m] among the row's training examples."""
