"""Random numbers as functions of (seed, stream, step, element), so there is no state to save.

Each word is the SplitMix64 mix of a counter under a key. Any element can be drawn alone, in any order and on
any device. `noiselimit.draws` computes the same on torch tensors.
"""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

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
