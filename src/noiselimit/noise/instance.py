"""Instance-dependent noise: examples near a boundary of a random linear classifier are mislabelled more."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Inputs, Labels
from noiselimit.data.examples import Examples
from noiselimit.noise.base import Matrix, ProbabilityNoise, no_transition
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


SLOPE = 4.0  # how fast flips become rarer away from the boundary, in units of the mean distance
HALVINGS = 60  # of an interval whose middle is sought: beyond float64's digits
DIRECTIONS, FLIPS = 1, 2  # steps of the noise stream; class noises draw in step 0


@dataclass(frozen=True, eq=False)
class Flips:
    """What may happen to each example."""

    probabilities: npt.NDArray[np.float64]  # [n], their mean is the noise's probability
    targets: Labels  # [n], the class of the nearest boundary that is not the label
    distances: npt.NDArray[np.float64]  # [n], to that boundary


@final
@dataclass(frozen=True)
class InstanceNoise(ProbabilityNoise):
    """With this probability on average, a label becomes the class across the example's nearest boundary."""

    kind: ClassVar[str] = "instance"

    def transition(self, class_names: Sequence[str]) -> Matrix:
        raise no_transition(self.kind, "it looks at the inputs")

    def draw(self, examples: Examples, seed: int) -> Labels:
        flips = self.flips(examples, seed)
        flipped = uniforms(seed, Stream.NOISE, FLIPS, len(examples)) < flips.probabilities
        return np.where(flipped, flips.targets, examples.labels)

    def posteriors(self, examples: Examples, seed: int) -> Matrix:
        flips = self.flips(examples, seed)
        rows = np.arange(len(examples))
        matrix = np.zeros((len(examples), examples.classes))
        matrix[rows, flips.targets] = flips.probabilities
        matrix[rows, examples.labels] = 1 - flips.probabilities
        return matrix

    def flips(self, examples: Examples, seed: int) -> Flips:
        """From scores s_c = w_c·x + b_c: the boundary of y and c is |s_y − s_c| / ‖w_y − w_c‖ away from x."""
        size = math.prod(examples.input_shape)
        drawn = random_directions(examples.classes, size + 1, seed, DIRECTIONS)
        directions, offsets = drawn[:, :-1], drawn[:, -1]
        scores = project(examples.inputs, directions) + offsets
        gram = directions @ directions.T
        lengths = np.sqrt(np.maximum(np.add.outer(gram.diagonal(), gram.diagonal()) - 2 * gram, 0))
        np.fill_diagonal(lengths, 1)
        rows, labels = np.arange(len(examples)), examples.labels
        distances = np.abs(scores[rows, labels][:, None] - scores) / lengths[labels]
        distances[rows, labels] = np.inf
        targets = distances.argmin(axis=1)
        nearest = distances[rows, targets]
        return Flips(flip_probabilities(nearest, self.probability), targets, nearest)


def flip_probabilities(distances: npt.NDArray[np.float64], mean: float) -> npt.NDArray[np.float64]:
    """[n]: sigmoid(b − SLOPE · distance / mean distance), with the b for which their mean is `mean`."""
    if mean in (0, 1):
        return np.full(len(distances), mean)
    far = SLOPE * distances / (distances.mean() or 1)  # inputs that are all alike have no distances
    # For the lowest b every example is at or below the mean, for the highest at or above it.
    level = float(np.log(mean) - np.log1p(-mean))
    lowest, highest = level + far.min(), level + far.max()
    for _ in range(HALVINGS):
        middle = (lowest + highest) / 2
        if _sigmoid(middle - far).mean() < mean:
            lowest = middle
        else:
            highest = middle
    return _sigmoid(highest - far)


def _sigmoid(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(np.exp(-np.logaddexp(0, -values)), np.float64)  # no overflow on either side
