"""From a spec and a data set to what one run sees.

A spec is bound to the data: what follows from them is filled in, and the run that it starts from is found.
Then come the split, the noisy labels and the standardisation.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Inputs, LazyInputs, Rows, highest_value
from noiselimit.data.examples import DataSet, Examples, require_labels
from noiselimit.errors import InputError
from noiselimit.information import entropy_of_posteriors
from noiselimit.methods import get_method
from noiselimit.networks import Role, fitting_network
from noiselimit.noise import NoNoise
from noiselimit.randomness import Stream, permutation
from noiselimit.runs.spec import RunSpec, architecture, problem

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

DECODED_FOR_STATISTICS = 2000
"""Pictures from files that are decoded to measure mean and standard deviation."""


def bind(
    spec: RunSpec, data: DataSet, fast_precision: str = "float32", *, distributed: bool = False
) -> RunSpec:
    """Fill in network, precision, shares, data and parent, and reset settings without effect.

    `fast_precision` is what precision 'auto' means on the device; a user's own network gets float32.
    """
    held_out = 0.0 if validated_elsewhere(spec, data) else spec.validation_share
    examples = data.examples
    require_labels(examples, data.name)
    _require_fitting_task(spec, examples)
    shape, classes, fingerprint = examples.input_shape, examples.classes, data.fingerprint
    precision = spec.precision
    if precision == "auto":
        precision = "float32" if spec.names_code else fast_precision
    bound = _without_idle_settings(
        dataclasses.replace(
            spec,
            network=fitting_network(shape) if spec.network == "auto" else spec.network,
            precision=precision,
            batch_norm=spec.batch_norm if distributed else RunSpec.batch_norm,
            test_share=0.0 if data.test is not None else spec.test_share,
            validation_share=held_out,
            data=fingerprint,
            parent=None,
        )
    )
    for role in Role if get_method(spec.method).needs_predictor else [Role.CLASSIFIER]:
        architecture(bound, role).check(shape, classes)
    if bound.augmentation != "none" and len(shape) != 3:
        raise InputError(
            f"augmentation is {bound.augmentation!r}, but the inputs are not images: leave it out."
        )
    if bound.transition is not None:
        bound.transition.transition(examples.class_names)  # raises if it does not fit the classes
    parent = parent_spec(bound)
    return bound if parent is None else dataclasses.replace(bound, parent=parent.hash)


def _require_fitting_task(spec: RunSpec, examples: Examples) -> None:
    """Refuse methods and samplers that need classes where there are none."""
    needy = f"method '{spec.method}'" if get_method(spec.method).needs_classes else ""
    needy = needy or ("sampler 'balanced'" if spec.sampler == "balanced" else "")
    if needy and not examples.task.has_classes:
        raise InputError(
            f"{needy} needs classes, but these labels are for {examples.task.name}: choose another."
        )


def validated_elsewhere(spec: RunSpec, data: DataSet) -> bool:
    """Whether the data's own clean validation part is used, so that no examples are held out."""
    return data.validation is not None and spec.validation_labels == "clean"


def parent_spec(spec: RunSpec) -> RunSpec | None:
    """The CE run that a bound spec starts from, or None.

    It has the same data, noise, seed and settings, so that one CE run serves all its children.
    """
    method = get_method(spec.method)
    if method.starts is None:
        return None
    for name in ("predictor_network", "predictor_features") if method.starts == "predictor" else ():
        if getattr(spec, name) is not None:
            raise InputError(
                f"{name} is {getattr(spec, name)!r}, but '{spec.method}' starts its predictor from a CE run "
                f"of network '{spec.network}': leave it out, or choose '{spec.method.removesuffix('+init')}'."
            )
    assert spec.parent_learning_rate is not None  # bound
    return _without_idle_settings(
        dataclasses.replace(
            spec,
            method="ce",
            hyper={},
            learning_rate=spec.parent_learning_rate,
            epochs=spec.parent_epochs or spec.epochs,
            parent=None,
        )
    )


def _without_idle_settings(spec: RunSpec) -> RunSpec:
    """Reset settings that have no effect on this run, so that equal runs get equal hashes."""
    method = get_method(spec.method)
    usual = spec.network if spec.predictor_features is None else "linear"
    idle_predictor = not method.needs_predictor or spec.predictor_network == usual
    idle_epochs = method.starts is None or spec.parent_epochs == spec.epochs
    parent_rate = usual_parent_rate(spec) if spec.parent_learning_rate is None else spec.parent_learning_rate
    return dataclasses.replace(
        spec,
        predictor_network=None if idle_predictor else spec.predictor_network,
        predictor_features=spec.predictor_features if method.needs_predictor else None,
        momentum=spec.momentum if spec.optimiser == "sgd" else RunSpec.momentum,
        transition=spec.transition if method.transition is not None else None,
        parent_learning_rate=None if method.starts is None else parent_rate,
        parent_epochs=None if idle_epochs else spec.parent_epochs,
    )


def usual_parent_rate(spec: RunSpec) -> float:
    """The child's own learning rate or, for a method whose rate is searched (dmi), Adam's default."""
    searched = get_method(spec.method).searches_rate and spec.optimiser == RunSpec.optimiser
    return RunSpec.learning_rate if searched else spec.learning_rate


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint sets of example indices, each in random order."""

    train: Indices
    validation: Indices
    test: Indices


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """The data of one run. Nothing here depends on the method."""

    examples: Examples  # all examples, with the labels that the run sees
    split: Split
    mean: Floats
    std: Floats
    """Of the training inputs: [channels, 1, 1] for images, [features] for vectors."""
    highest: float  # the largest input value
    weights: Floats | None = None  # [train]: weights of the training examples, 1 on average; None: all 1
    noise_entropy: float | None = None
    """H(y|x) of the training labels in bits per label, if the noise is known."""


def split_examples(
    count: int,
    seed: int,
    *,
    validation_share: float = 0.2,
    test_share: float = 0.0,
    train_size: int | None = None,
    validated_elsewhere: bool = False,
) -> Split:
    """Split `count` examples; `validation_share` is a share of those that are not in the test part.

    A smaller training set is part of a larger one, and the other parts do not depend on its size. The
    validation part may be empty if other examples validate (`validated_elsewhere`).
    """
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


def prepare_all(specs: Sequence[RunSpec], data: DataSet) -> list[PreparedRun]:
    """Prepare every spec; specs that differ only in method or hyper-parameters share the result."""
    made: dict[str, PreparedRun] = {}
    keys = [dataclasses.replace(problem(spec), seed=spec.seed).key for spec in specs]
    for key, spec in zip(keys, specs, strict=True):
        if key not in made:
            made[key] = prepare(spec, data)
    return [made[key] for key in keys]


def prepare(spec: RunSpec, data: DataSet) -> PreparedRun:
    """Split, add noise to all labels but those of the test part, and measure the training inputs."""
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
            "validation_labels is 'clean', but the clean labels of these data are unknown: leave it out, or "
            "name the column or array with clean labels."
        )
    labels = noisy.labels.copy()
    labels[split.test] = data.examples.labels[split.test]
    # Labels that were given as they are have unknown noise.
    known = None if isinstance(spec.noise, NoNoise) else spec.noise.posteriors(data.examples, spec.seed)
    highest = highest_value(data.examples.inputs)
    return PreparedRun(
        dataclasses.replace(noisy, labels=labels),
        split,
        *_standardisation(data, split.train),
        highest=highest,
        weights=_weights(data.examples, split.train),
        noise_entropy=None if known is None else float(entropy_of_posteriors(known[split.train])),
    )


def truest_labels(examples: Examples) -> npt.NDArray[np.int64]:
    """The clean labels if they are known, else the given ones."""
    return examples.labels if examples.clean_labels is None else examples.clean_labels


def _weights(examples: Examples, train: Indices) -> Floats | None:
    """The weights of the training examples, scaled to 1 on average."""
    if examples.weights is None:
        return None
    weights = examples.weights[train].astype(np.float64)
    if not weights.any():
        raise InputError("all training examples have weight 0: raise some weights, or train_size.")
    return np.asarray(weights / weights.mean(), np.float32)


def _standardisation(data: DataSet, train: Indices) -> tuple[Floats, Floats]:
    inputs = data.examples.inputs
    if isinstance(inputs, Rows):
        train = np.sort(train)  # in the order of the file
    elif isinstance(inputs, LazyInputs):
        return statistics(inputs, train[:DECODED_FOR_STATISTICS])
    elif inputs.ndim == 4 and inputs.dtype == np.uint8:
        return picture_statistics(inputs, train)
    mean, std = statistics(inputs, train)
    if data.table is not None:  # one-hot features stay zeros and ones
        numeric = data.table.is_numeric
        mean, std = np.where(numeric, mean, np.float32(0)), np.where(numeric, std, np.float32(1))
    return mean, std


def statistics(inputs: Inputs, rows: Indices) -> tuple[Floats, Floats]:
    """Mean and standard deviation over examples (and pixels); 1 for the deviation of a constant.

    Two passes, because squares of a large mean would swamp a small deviation, and in pieces, because a
    float64 copy of large data would not fit into memory.
    """
    axes, shape = ((0, 2, 3), (-1, 1, 1)) if inputs.ndim == 4 else ((0,), (-1,))
    decoded = isinstance(inputs, LazyInputs) and inputs.ndim == 4
    pieces = np.array_split(rows, len(rows) // (64 if decoded else 4096) + 1)
    count = len(rows) * (math.prod(inputs.shape[2:]) if inputs.ndim == 4 else 1)
    mean = sum(inputs[piece].sum(axes, dtype=np.float64) for piece in pieces) / count
    centre = np.asarray(mean, np.float64).reshape(shape)
    with np.errstate(invalid="ignore"):  # a run with infinite inputs fails later, with a message
        squares = sum(np.square(inputs[piece] - centre).sum(axes) for piece in pieces)
    std = np.sqrt(np.asarray(squares, np.float64) / count).reshape(shape)
    return centre.astype(np.float32), _not_zero(std.astype(np.float32))


def picture_statistics(pictures: npt.NDArray[np.uint8], rows: Indices) -> tuple[Floats, Floats]:
    """`statistics` of pictures of bytes from whole numbers: exact, and seven times faster."""
    count = len(rows) * math.prod(pictures.shape[2:])
    sums = np.zeros((2, pictures.shape[1]), np.int64)
    for piece in np.array_split(rows, len(rows) // 512 + 1):
        values = pictures[piece]
        sums[0] += values.sum((0, 2, 3), dtype=np.int64)
        sums[1] += np.square(values, dtype=np.uint16).sum((0, 2, 3), dtype=np.int64)
    both = zip(*sums.tolist(), strict=True)
    found = [(total / count, math.sqrt((square * count - total**2) / count**2)) for total, square in both]
    mean, std = np.array(found, np.float32).T.reshape(2, -1, 1, 1)
    return mean, _not_zero(std)


def _not_zero(std: Floats) -> Floats:
    return np.where(std > 0, std, np.float32(1))
