"""From a data set and a spec to what one run sees: its split, its noisy labels, its standardisation."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noiselimit.binding import validated_elsewhere
from noiselimit.cohort.standardisation import Floats, PictureSums, statistics
from noiselimit.data.examples import DataSet, Examples
from noiselimit.data.lazy import LazyInputs
from noiselimit.errors import InputError
from noiselimit.information import entropy_of_posteriors
from noiselimit.noise import NoNoise
from noiselimit.spec import RunSpec, problem
from noiselimit.split import Split, split_examples

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
