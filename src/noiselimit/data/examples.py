"""Examples and data sets: inputs, given labels and, where they are known, clean labels.

`make_examples` checks data of any usual type and brings them to canonical form. Only audits accept examples
without a label; they have the label −1.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.arrays import (
    Inputs,
    Labels,
    LazyInputs,
    as_array,
    canonical_inputs,
    encode_labels,
    find_class_names,
    first,
    highest_value,
    is_missing,
    label_array,
    read_labels,
)
from noiselimit.data.tables import Table
from noiselimit.errors import InputError, unknown
from noiselimit.features.cache import Embedding
from noiselimit.tasks import CLASSIFICATION, MultiLabel, Regression, Task
from noiselimit.tasks.multilabel import read_sets
from noiselimit.tasks.regression import read_values

MISSING_LABEL = -1
MANY_VALUES = 20
"""From so many different numbers on, labels may be values instead of classes."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and labels in canonical form, as `make_examples` returns them."""

    inputs: Inputs
    """[n, features] float32, or [n, channels, height, width] uint8 or float32."""
    labels: Labels
    """[n] given labels, some of which may be wrong; −1 where a label is missing. Float64 for regression."""
    class_names: tuple[str, ...]
    """For regression, the name of the label."""
    clean_labels: Labels | None = None
    """[n]"""
    weights: npt.NDArray[np.float32] | None = None
    """[n] ≥ 0: how much each example counts in training."""
    label_sets: Mapping[str, Labels] = field(default_factory=dict)
    """Further given labels [n] by name."""
    names: Sequence[str] | None = None
    """[n] names of the examples at their source, such as file names."""
    kept: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    """Columns [n] of a table for the outputs, with their names there: identifiers and texts."""
    targets: npt.NDArray[np.float32] | None = None
    """[n, C] probabilities that `ce` learns instead of the labels."""
    task: Task = CLASSIFICATION
    """What the labels are."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> int:
        """Number of classes, which is the number of outputs of a network."""
        return len(self.class_names)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input: [features] or [channels, height, width]."""
        return self.inputs.shape[1:]

    @property
    def wrong(self) -> Flags | None:
        """[n], true where the given label differs from the clean one; None if clean labels are unknown."""
        if self.clean_labels is None:
            return None
        differs = self.labels != self.clean_labels
        return np.asarray(differs.any(1) if differs.ndim == 2 else differs) & is_labelled(self)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the content, independent of where the examples were read from."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(json.dumps(self.class_names).encode())
        if isinstance(self.inputs, LazyInputs):
            digest.update(self.inputs.digest)
        else:
            _add_array(digest, self.inputs)
        _add_array(digest, self.labels)
        _add_array(digest, self.clean_labels)
        # Only if present, so that data without them keep the fingerprint of earlier versions.
        if self.weights is not None:
            _add_array(digest, self.weights)
        if self.targets is not None:
            _add_array(digest, self.targets)
        for name in sorted(self.label_sets):
            digest.update(name.encode())
            _add_array(digest, self.label_sets[name])
        if not self.task.has_classes:
            digest.update(json.dumps(self.task.to_json()).encode())
        return digest.hexdigest()


def _add_array(digest: "hashlib.blake2b", array: npt.NDArray[Any] | None) -> None:
    if array is None:
        digest.update(b"none")
    else:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)


@dataclass(frozen=True, eq=False)
class DataSet:
    """Training examples with optional official test and validation parts."""

    name: str
    examples: Examples
    test: Examples | None = None
    table: Table | None = None
    """How the rows of a table became inputs, so that new rows are encoded in the same way."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a RunSpec that the command line uses for these data unless the user sets them."""
    notes: tuple[str, ...] = ()
    """Messages from reading the data, such as pictures that were skipped."""
    validation: Examples | None = None
    """Official validation part, with cleaner labels than those of the training examples."""
    resize: int | None = None
    """Side to which picture files were scaled before they were cropped."""
    pictures: Inputs | None = None
    """[n, channels, height, width]: the pictures of which the inputs are features."""
    embedding: Embedding | None = None
    """The model that made these features."""
    shards: tuple[tuple[str, int], ...] = ()
    """Names, below the data's folder, of the files that the examples come from in order, and their numbers of
    examples; for data sets of many files."""

    def __post_init__(self) -> None:
        for part, name in ((self.test, "test"), (self.validation, "validation")):
            for ours, theirs in _forms(self.examples, part) if part is not None else ():
                if ours != theirs:
                    problem = f"the {name} part has {theirs} but the training part {ours}"
                    raise InputError(f"{self.name}: {problem}; prepare both in the same way.")

    @property
    def shown(self) -> Inputs:
        """What reports show of the training examples: their pictures, or the inputs themselves."""
        return self.examples.inputs if self.pictures is None else self.pictures

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the content of all parts and of the table's columns; the name does not count."""
        parts = [part.fingerprint if part else "none" for part in (self.examples, self.test)]
        if self.validation is not None:
            parts.append(self.validation.fingerprint)
        if self.table is not None:  # a run looks its columns up by name, so renaming one changes the data
            parts.append(json.dumps(self.table.to_json()))
        return hashlib.blake2b(":".join(parts).encode(), digest_size=16).hexdigest()


def _forms(*parts: Examples) -> Iterator[tuple[str, ...]]:
    """What two parts must have in common: pairs of the same words if they do."""
    yield tuple(f"input shape {list(part.input_shape)}" for part in parts)
    yield tuple(f"class names {list(part.class_names)}" for part in parts)
    yield tuple(f"labels for {part.task}" for part in parts)
    if len({part.inputs.dtype for part in parts}) > 1:  # one may hold bytes and the other fractions
        whole = (part.inputs.dtype == np.uint8 or highest_value(part.inputs) > 1 for part in parts)
        yield tuple("values up to 255" if each else "values up to 1" for each in whole)


def make_examples(
    inputs: Any,
    labels: Any,
    *,
    class_names: Sequence[str] | None = None,
    clean_labels: Any = None,
    weights: Any = None,
    label_sets: Mapping[str, Any] | None = None,
    names: Sequence[str] | None = None,
    source: str = "inputs",
    may_lack_classes: bool = False,
    keep_unlabelled: bool = False,
) -> Examples:
    """Check inputs and labels of any usual type and bring them to canonical form.

    Parameters
    ----------
    inputs
        [n, features], [n, height, width] or pictures with channels first or last; or `LazyInputs`.
    labels
        [n] numbers 0 … k−1 or strings.
    class_names
        Names of the k classes. By default, the classes are those that occur.
    clean_labels, weights, label_sets, names
        As in `Examples`, each with n entries.
    source
        Names the data in error messages.
    may_lack_classes
        Accept classes without an example, as in a test part.
    keep_unlabelled
        Give examples without a label (None, NaN or an empty string) the label −1 instead of raising.

    Returns
    -------
    Examples
        The checked examples. If the data cannot be used, an InputError names the row and the remedy.
    """
    checked = inputs if isinstance(inputs, LazyInputs) else canonical_inputs(inputs, source)
    count = len(checked)
    missing = None
    if keep_unlabelled:
        labels, missing = fill_labels(labels, source)
    given = _read_labels(labels, count, source, "label")
    classes = find_class_names(given, source) if class_names is None else _checked_names(class_names, source)
    if len(classes) < 2:
        raise InputError(f"{source}: there is only one class; a classifier needs examples of at least two.")

    def encoded(values: Any, what: str) -> Labels:
        return encode_labels(_read_labels(values, count, source, what), classes, source, what)

    examples = Examples(
        checked,
        encode_labels(given, classes, source),
        classes,
        None if clean_labels is None else encoded(clean_labels, "clean label"),
        None if weights is None else _checked_weights(weights, count, source),
        {name: encoded(values, f"{name} label") for name, values in (label_sets or {}).items()},
        names,
    )
    number = first(np.bincount(examples.labels, minlength=len(classes)) == 0)
    if number is not None and not may_lack_classes:
        name = classes[number]
        raise InputError(f"{source}: class {number} ('{name}') has no example; add one or remove the class.")
    return examples if missing is None else without_labels(examples, missing)


def make_values(
    inputs: Any,
    labels: Any,
    *,
    task: Regression | None = None,
    clean_labels: Any = None,
    weights: Any = None,
    name: str = "value",
    source: str = "inputs",
    keep_unlabelled: bool = False,
) -> Examples:
    """Like `make_examples`, for regression: labels [n] are numbers.

    `task` holds the centre and scale of other labels; by default, they are those of these. `name` is that
    of the label.
    """
    checked = inputs if isinstance(inputs, LazyInputs) else canonical_inputs(inputs, source)

    def read(values: Any, what: str) -> npt.NDArray[np.float64]:
        found = read_values(values, source)
        if len(found) != len(checked):
            counts = f"there are {len(checked)} inputs but {len(found)} {what}s"
            raise InputError(f"{source}: {counts}; give one for each.")
        return found

    given = read(labels, "label")
    row = first(np.isnan(given))
    if row is not None and not keep_unlabelled:
        raise InputError(f"{source}: label in row {row} is missing; fill it in or remove that example.")
    return Examples(
        checked,
        given,  # type: ignore[arg-type]
        (name,),
        None if clean_labels is None else read(clean_labels, "clean label"),  # type: ignore[arg-type]
        None if weights is None else _checked_weights(weights, len(checked), source),
        task=task or Regression.of(given, source),
    )


def make_multilabel(
    inputs: Any, labels: Any, *, class_names: Sequence[str] | None = None, source: str = "inputs"
) -> Examples:
    """Like `make_examples`, for any number of classes per example.

    `labels` are a matrix [n, C] of 0 and 1, lists of names, or texts such as 'cat;dog'.
    """
    checked = inputs if isinstance(inputs, LazyInputs) else canonical_inputs(inputs, source)
    found, names = read_sets(labels, source)
    if len(found) != len(checked):
        raise InputError(
            f"{source}: there are {len(checked)} inputs but {len(found)} labels; give one set for each."
        )
    return Examples(checked, found, class_names=tuple(class_names or names), task=MultiLabel())  # type: ignore[arg-type]


def is_regression(labels: Any, task: str) -> bool:
    """Whether labels of this task are numbers; `auto` recognises many different ones, most not whole."""
    tasks = ("auto", CLASSIFICATION.name, Regression.name)
    if task not in tasks:
        raise unknown("task", task, tasks)
    if task != "auto":
        return task == Regression.name
    found = pd.Series(np.asarray(labels)) if not isinstance(labels, pd.Series) else labels
    if pd.api.types.is_object_dtype(found.dtype):
        found = found.infer_objects()
    if not pd.api.types.is_numeric_dtype(found.dtype) or pd.api.types.is_bool_dtype(found.dtype):
        return False
    values = found.dropna().to_numpy(np.float64)
    distinct = len(np.unique(values))
    return distinct >= MANY_VALUES and (
        2 * distinct > len(values) or bool((values != np.round(values)).any())
    )


def _read_labels(values: Any, count: int, source: str, what: str) -> npt.NDArray[Any]:
    array = read_labels(values, source, what)
    if len(array) != count:
        raise InputError(f"{source}: there are {count} inputs but {len(array)} {what}s; give one for each.")
    return array


def _checked_names(class_names: Sequence[str], source: str) -> tuple[str, ...]:
    names = tuple(class_names)
    if not all(isinstance(name, str) and name for name in names):
        raise InputError(f"{source}: class_names must be non-empty strings; give one per class.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{source}: class_names has '{twice}' twice; give each class its own name.")
    return tuple(str(name) for name in names)  # plain strings, not NumPy's


def _checked_weights(weights: Any, count: int, source: str) -> npt.NDArray[np.float32]:
    array = as_array(weights, source, "weights")
    if array.shape != (count,) or array.dtype.kind not in "biuf":
        raise InputError(f"{source}: weights have shape {list(array.shape)}; give one number per example.")
    with np.errstate(over="ignore"):
        converted = array.astype(np.float32)
    row = first(~(np.isfinite(converted) & (converted >= 0)))
    if row is not None:
        raise InputError(f"{source}: the weight in row {row} is {array[row]}; give a finite number ≥ 0.")
    if not converted.any():
        raise InputError(f"{source}: all weights are 0; give some examples a weight above 0.")
    return converted


def fill_labels(labels: Any, source: str) -> tuple[npt.NDArray[Any], Flags]:
    """(labels [n], which were missing [n]), with a label that occurs in place of None, NaN and empty text.

    The result can be checked like labels without gaps; then `without_labels` restores the gaps.
    """
    found = label_array(labels, source)
    missing = is_missing(found)
    if missing.all() and len(missing):  # what has no rows at all is refused later
        raise InputError(f"{source}: all labels are missing; label examples of at least two classes.")
    if missing.any():
        found = found.copy()
        found[missing] = found[np.argmin(missing)]
    return found, missing


def without_labels(examples: Examples, missing: Flags) -> Examples:
    """The examples with −1 in place of the labels that are missing [n]."""
    if not missing.any():
        return examples
    return replace(examples, labels=np.where(missing, MISSING_LABEL, examples.labels))


def is_labelled(examples: Examples) -> Flags:
    """[n], false where the label is missing."""
    return ~examples.task.is_missing(examples.labels)


def require_labels(examples: Examples, source: str) -> None:
    """Raise InputError if a label is missing: only audits can use such examples."""
    missing = ~is_labelled(examples)
    if missing.any():
        count = f"{missing.sum()} examples, the first in row {first(missing)}"
        raise InputError(f"{source}: {count}, have no label; label or remove them, or run an audit.")


def take_examples(examples: Examples, rows: npt.NDArray[np.int64]) -> Examples:
    """Only these rows [m], in this order."""
    inputs, names = examples.inputs, examples.names

    def take(values: Any) -> Any:
        return None if values is None else values[rows]

    return replace(
        examples,
        inputs=inputs.take(rows) if isinstance(inputs, LazyInputs) else inputs[rows],
        labels=examples.labels[rows],
        clean_labels=take(examples.clean_labels),
        weights=take(examples.weights),
        targets=take(examples.targets),
        label_sets={name: labels[rows] for name, labels in examples.label_sets.items()},
        names=None if names is None else [names[row] for row in rows],
        kept={name: values[rows] for name, values in examples.kept.items()},
    )
