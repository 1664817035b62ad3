"""Random directions in input space, and where standardised inputs lie along them."""

import math

import numpy as np
import numpy.typing as npt

from noiselimit.data.lazy import Inputs
from noiselimit.randomness import Stream, uniforms

Floats = npt.NDArray[np.float64]

SAMPLE = 5000  # examples that say how to standardise: enough, and pictures are not all decoded again
PIECE = 2**22  # numbers that are looked at together: inputs may be too many for memory


def random_directions(count: int, size: int, seed: int, step: int) -> Floats:
    """[count, size]: standard normal numbers from the noise stream of the seed."""
    radius, angle = uniforms(seed, Stream.NOISE, step, 2 * count * size).reshape(2, count, size)
    normal: Floats = np.sqrt(-2 * np.log1p(-radius)) * np.cos(2 * np.pi * angle)  # Box and Muller's
    return normal


def project(inputs: Inputs, directions: Floats) -> Floats:
    """[n, directions]: inner products with the standardised inputs, read piece by piece."""
    mean, deviation = standardisation(inputs)
    scores = np.empty((len(inputs), len(directions)))
    for piece in _pieces(np.arange(len(inputs)), inputs):
        standard = (inputs[piece] - mean) / deviation
        scores[piece] = standard.reshape(len(piece), -1) @ directions.T
    return scores


def standardisation(inputs: Inputs) -> tuple[Floats, Floats]:
    """Mean and deviation of each feature, [features], or channel, [channels, 1, 1], over at most SAMPLE rows.

    The rows are evenly spaced; what is the same in all of them gets deviation 1.
    """
    rows = np.unique(np.linspace(0, len(inputs) - 1, min(len(inputs), SAMPLE)).astype(np.int64))
    axes, shape = ((0, 2, 3), (-1, 1, 1)) if inputs.ndim == 4 else ((0,), (-1,))
    pieces = _pieces(rows, inputs)
    count = len(rows) * math.prod(inputs.shape[2:])
    mean = sum((inputs[piece].sum(axes, dtype=np.float64) for piece in pieces), np.zeros(1)) / count
    mean = mean.reshape(shape)
    # A second pass, because the squares of a large mean would drown a small deviation.
    squares = sum((np.square(inputs[piece] - mean).sum(axes) for piece in pieces), np.zeros(1))
    deviation = np.sqrt(squares / count).reshape(shape)
    return mean, np.where(deviation > 0, deviation, 1)


def _pieces(rows: npt.NDArray[np.int64], inputs: Inputs) -> list[npt.NDArray[np.int64]]:
    together = max(1, PIECE // math.prod(inputs.shape[1:]))
    return np.array_split(rows, math.ceil(len(rows) / together))
