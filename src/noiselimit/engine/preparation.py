"""From a data set and a spec to what one run sees: its split, its noisy labels, its standardisation."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Inputs, LazyInputs
from noiselimit.data.examples import DataSet, Examples
from noiselimit.errors import InputError
from noiselimit.information import entropy_of_posteriors
from noiselimit.noise import NoNoise
from noiselimit.randomness import Stream, permutation
from noiselimit.runs.binding import validated_elsewhere
from noiselimit.runs.spec import RunSpec, problem

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint sets of indices into the examples, each in the split's random order."""

    train: Indices
    validation: Indices
    test: Indices


def split_examples(
    count: int,
    seed: int,
    *,
    validation_share: float = 0.2,
    test_share: float = 0.0,
    train_size: int | None = None,
    validated_elsewhere: bool = False,
) -> Split:
    """Cut one random order of `count` examples into test, validation and training, in that order.

    `validation_share` is of what the test part leaves. Training sets of growing `train_size` contain each
    other, and neither the test nor the validation part depends on it. Where other examples validate, none of
    these need to.
    """
    for name, share in (("validation_share", validation_share), ("test_share", test_share)):
        if not 0 <= share < 1:
            raise InputError(f"{name} is {share}: give a fraction in [0, 1) such as 0.2.")
    tests = round(count * test_share)
    validations = round((count - tests) * validation_share)
    left = count - tests - validations
    if validations == 0 and not validated_elsewhere:
        raise InputError(
            f"validation_share is {validation_share}, which takes none of {count - tests} examples: "
            "raise it or give more examples."
        )
    if left < 2:
        raise InputError(
            f"validation_share is {validation_share}, which leaves {left} of {count} examples for training: "
            "lower it or test_share, or give more examples."
        )
    size = left if train_size is None else train_size
    if not 2 <= size <= left:
        raise InputError(
            f"train_size is {train_size}, but {left} examples are left for training: choose 2 to {left}."
        )
    order = permutation(seed, Stream.SPLIT, 0, count)
    test, validation, rest = np.split(order, [tests, tests + validations])
    return Split(train=rest[:size], validation=validation, test=test)


Floats = npt.NDArray[np.float32]


def statistics(inputs: Inputs, rows: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Mean and standard deviation over examples (and pixels); a constant channel or feature gets std 1.

    Two passes in pieces: the squares of a large mean would drown a small deviation, and a float64 copy of
    everything would not fit beside large data.
    """
    axes = (0, 2, 3) if inputs.ndim == 4 else (0,)
    pieces = np.array_split(rows, len(rows) // (64 if isinstance(inputs, LazyInputs) else 4096) + 1)
    count = len(rows) * (math.prod(inputs.shape[2:]) if inputs.ndim == 4 else 1)
    mean = sum(inputs[piece].sum(axes, dtype=np.float64) for piece in pieces) / count
    shape = (-1, 1, 1) if inputs.ndim == 4 else (-1,)
    centre = np.asarray(mean, np.float64).reshape(shape)
    with np.errstate(invalid="ignore"):  # inputs that are infinite by now fail the run, in a sentence
        squares = sum(np.square(inputs[piece] - centre).sum(axes) for piece in pieces)
    std = np.sqrt(np.asarray(squares, np.float64) / count).reshape(shape)
    narrow = std.astype(np.float32)  # where the smallest deviations vanish
    return centre.astype(np.float32), np.where(narrow > 0, narrow, np.float32(1))


@dataclass(frozen=True, eq=False)
class PictureSums:
    """Sums over the pixels of each picture, from which the statistics of any choice of them follow quickly.

    For pictures of bytes only: their sums are whole numbers, and whole numbers lose no digits.
    """

    values: npt.NDArray[np.int64]
    squares: npt.NDArray[np.int64]
    """[n, channels]."""
    pixels: int

    @classmethod
    def of(cls, inputs: Inputs) -> "PictureSums | None":
        """None where the inputs are no pictures of bytes in memory."""
        if isinstance(inputs, LazyInputs) or inputs.ndim != 4 or inputs.dtype != np.uint8:
            return None
        flat = inputs.reshape(*inputs.shape[:2], -1)
        pieces = np.array_split(flat, len(flat) // 4096 + 1)
        values = np.concatenate([piece.sum(-1, dtype=np.int64) for piece in pieces])
        squares = np.concatenate(
            [np.square(piece, dtype=np.uint16).sum(-1, dtype=np.int64) for piece in pieces]
        )
        return cls(values, squares, flat.shape[-1])

    def statistics(self, rows: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """As `statistics` of these rows, but exact until the last step."""
        count = len(rows) * self.pixels
        means, stds = [], []
        for total, square in zip(self.values[rows].sum(0), self.squares[rows].sum(0), strict=True):
            means.append(int(total) / count)
            stds.append(math.sqrt((int(square) * count - int(total) ** 2) / count**2))
        shape = (-1, 1, 1)
        std = np.asarray(stds, np.float32).reshape(shape)
        return np.asarray(means, np.float32).reshape(shape), np.where(std > 0, std, np.float32(1))


DECODED_FOR_STATISTICS = 2000
"""Pictures from files whose channels are measured: the first of the split's random order."""


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """What a run's seed makes of the data set. Nothing here depends on the method."""

    examples: Examples
    """All examples, with the given labels the run sees: noisy where noise was added."""
    split: Split
    """Which of them it trains on, validates on and (when the data have no test part) is tested on."""
    mean: Floats
    std: Floats
    """Of the training inputs: per channel [channels, 1, 1] for images, per feature [features] for vectors."""
    weights: Floats | None = None
    """[train] how much the training examples count, 1 on average; None: all alike."""
    noise_entropy: float | None = None
    """H(y|x) of the training labels in bits per label, where the noise is known."""


def prepare(spec: RunSpec, data: DataSet, sums: PictureSums | None = None) -> PreparedRun:
    """Split, then noise on everything but the test examples, then statistics of the training inputs.

    Whoever prepares many runs hands over the `sums` of the data set's pictures, where it has such.
    """
    split = split_examples(
        len(data.examples),
        spec.seed,
        validation_share=spec.validation_share,
        test_share=spec.test_share,
        train_size=spec.train_size,
        validated_elsewhere=validated_elsewhere(spec, data),
    )
    if len(split.train) < data.examples.classes:
        raise InputError(
            f"train_size is {len(split.train)}, fewer examples than the {data.examples.classes} classes: "
            "give more examples, or smaller shares to validation and test."
        )
    noisy = spec.noise.apply(data.examples, spec.seed)
    if spec.validation_labels == "clean" and data.validation is None and noisy.clean_labels is None:
        raise InputError(
            "validation_labels is 'clean', but clean labels are not known for these data: leave it out, or "
            "name the column or array that holds them."
        )
    labels = noisy.labels.copy()
    labels[split.test] = data.examples.labels[split.test]
    mean, std = _standardisation(data, split.train, sums)
    return PreparedRun(
        dataclasses.replace(noisy, labels=labels),
        split,
        mean,
        std,
        _weights(data.examples, split.train),
        _noise_entropy(spec, data.examples, split.train),
    )


def _noise_entropy(spec: RunSpec, examples: Examples, train: npt.NDArray[np.int64]) -> float | None:
    """Of the noise that was added; labels that came as they are have noise that nobody knows."""
    posteriors = None if isinstance(spec.noise, NoNoise) else spec.noise.posteriors(examples, spec.seed)
    return None if posteriors is None else float(entropy_of_posteriors(posteriors[train]))


def _standardisation(
    data: DataSet, train: npt.NDArray[np.int64], sums: PictureSums | None
) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the training inputs, or of as many as it is quick to decode."""
    sums = sums or PictureSums.of(data.examples.inputs)  # the same digits alone and among many
    if sums is not None:
        return sums.statistics(train)
    lazy = isinstance(data.examples.inputs, LazyInputs)
    mean, std = statistics(data.examples.inputs, train[:DECODED_FOR_STATISTICS] if lazy else train)
    if data.table is not None:  # one-hot features stay zeros and ones
        numeric = data.table.is_numeric
        mean, std = np.where(numeric, mean, np.float32(0)), np.where(numeric, std, np.float32(1))
    return mean, std


def _weights(examples: Examples, train: npt.NDArray[np.int64]) -> Floats | None:
    """The weights of the training examples, scaled to 1 on average: a step is as long as without them."""
    if examples.weights is None:
        return None
    weights = examples.weights[train].astype(np.float64)
    if not weights.any():
        raise InputError(
            "all training examples have weight 0, so nothing would be learned: raise some, or train_size."
        )
    return np.asarray(weights / weights.mean(), np.float32)


def truest_labels(examples: Examples) -> npt.NDArray[np.int64]:
    """The clean labels where they are known, else the given ones: what test accuracy is measured by."""
    return examples.labels if examples.clean_labels is None else examples.clean_labels


def prepare_all(specs: Sequence[RunSpec], data: DataSet) -> list[PreparedRun]:
    """One preparation per spec; runs that differ in method or hyper-parameters only share it."""
    made: dict[str, PreparedRun] = {}
    sums = PictureSums.of(data.examples.inputs)
    keys = [dataclasses.replace(problem(spec), seed=spec.seed).key for spec in specs]
    for key, spec in zip(keys, specs, strict=True):
        if key not in made:
            made[key] = prepare(spec, data, sums)
    return [made[key] for key in keys]
