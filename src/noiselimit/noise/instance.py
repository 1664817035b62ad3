"""Instance-dependent noise: examples near a boundary of a random linear classifier are mislabelled more."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Inputs, Labels
from noiselimit.data.examples import Examples
from noiselimit.noise.base import Matrix, ProbabilityNoise
from noiselimit.randomness import Stream, uniforms

Floats = npt.NDArray[np.float64]

SAMPLE = 5000  # examples used for standardisation, so that not all images are decoded again
CHUNK = 2**22  # values that are processed together, because inputs may exceed the memory
SLOPE = 4.0  # how fast flips become rarer away from the boundary, per mean distance
DIRECTIONS, FLIPS = 1, 2  # steps of the noise stream; class noises draw in step 0


@dataclass(frozen=True)
class InstanceNoise(ProbabilityNoise):
    """With this probability on average, a label becomes the class across the example's nearest boundary."""

    kind: ClassVar[str] = "instance"

    def draw(self, examples: Examples, seed: int) -> Labels:
        probabilities, targets = self.flips(examples, seed)
        flipped = uniforms(seed, Stream.NOISE, FLIPS, len(examples)) < probabilities
        return np.where(flipped, targets, examples.labels)

    def posteriors(self, examples: Examples, seed: int) -> Matrix:
        probabilities, targets = self.flips(examples, seed)
        rows = np.arange(len(examples))
        matrix = np.zeros((len(examples), examples.classes))
        matrix[rows, targets] = probabilities
        matrix[rows, examples.labels] = 1 - probabilities
        return matrix

    def flips(self, examples: Examples, seed: int) -> tuple[Floats, Labels]:
        """Return the probability [n] that each label flips, and the class [n] that it would become.

        With scores s_c = w_c·x + b_c, the boundary between classes y and c is |s_y − s_c| / ‖w_y − w_c‖ away.
        """
        size = math.prod(examples.input_shape)
        drawn = random_directions(examples.classes, size + 1, seed)
        directions, offsets = drawn[:, :-1], drawn[:, -1]
        scores = project(examples.inputs, directions) + offsets
        gram = directions @ directions.T
        lengths = np.sqrt(np.maximum(np.add.outer(gram.diagonal(), gram.diagonal()) - 2 * gram, 0))
        np.fill_diagonal(lengths, 1)
        rows, labels = np.arange(len(examples)), examples.labels
        distances = np.abs(scores[rows, labels][:, None] - scores) / lengths[labels]
        distances[rows, labels] = np.inf
        targets = distances.argmin(axis=1)
        return flip_probabilities(distances[rows, targets], self.probability), targets


def random_directions(count: int, size: int, seed: int) -> Floats:
    """Draw [count, size] standard normal numbers (Box–Muller)."""
    radius, angle = uniforms(seed, Stream.NOISE, DIRECTIONS, 2 * count * size).reshape(2, count, size)
    normal: Floats = np.sqrt(-2 * np.log1p(-radius)) * np.cos(2 * np.pi * angle)
    return normal


def project(inputs: Inputs, directions: Floats) -> Floats:
    """Return [n, directions]: inner products with the standardised inputs, computed in chunks."""
    mean, deviation = standardisation(inputs)
    scores = np.empty((len(inputs), len(directions)))
    for rows in _chunks(np.arange(len(inputs)), inputs):
        standard = (inputs[rows] - mean) / deviation
        scores[rows] = standard.reshape(len(rows), -1) @ directions.T
    return scores


def standardisation(inputs: Inputs) -> tuple[Floats, Floats]:
    """Return mean and deviation of each feature [features] or channel [channels, 1, 1].

    Computed on at most SAMPLE evenly spaced rows; constant features get deviation 1.
    """
    rows = np.unique(np.linspace(0, len(inputs) - 1, min(len(inputs), SAMPLE)).astype(np.int64))
    axes, shape = ((0, 2, 3), (-1, 1, 1)) if inputs.ndim == 4 else ((0,), (-1,))
    chunks = _chunks(rows, inputs)
    count = len(rows) * math.prod(inputs.shape[2:])
    mean = sum((inputs[chunk].sum(axes, dtype=np.float64) for chunk in chunks), np.zeros(1)) / count
    mean = mean.reshape(shape)
    # In a second pass, because the squares of a large mean would hide a small deviation.
    squares = sum((np.square(inputs[chunk] - mean).sum(axes) for chunk in chunks), np.zeros(1))
    deviation = np.sqrt(squares / count).reshape(shape)
    return mean, np.where(deviation > 0, deviation, 1)


def _chunks(rows: npt.NDArray[np.int64], inputs: Inputs) -> list[npt.NDArray[np.int64]]:
    together = max(1, CHUNK // math.prod(inputs.shape[1:]))
    return np.array_split(rows, math.ceil(len(rows) / together))


def flip_probabilities(distances: Floats, mean: float) -> Floats:
    """Return [n]: sigmoid(b − SLOPE · distance / mean distance), with b such that their mean is `mean`."""
    if mean in (0, 1):
        return np.full(len(distances), mean)
    far = SLOPE * distances / (distances.mean() or 1)  # identical inputs have no distances
    # At the lowest b every example is at or below the mean, at the highest at or above it.
    level = float(np.log(mean) - np.log1p(-mean))
    lowest, highest = level + far.min(), level + far.max()
    for _ in range(60):  # more than float64 has digits
        middle = (lowest + highest) / 2
        if _sigmoid(middle - far).mean() < mean:
            lowest = middle
        else:
            highest = middle
    return _sigmoid(highest - far)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0, -values)), np.float64)  # does not overflow
