"""Examples without a label: they keep their place among the others, with −1 for a label."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.arrays import (
    Labels,
    as_array,
    as_text,
    canonical_inputs,
    encode_labels,
    find_class_names,
    is_text,
    read_labels,
)
from noiselimit.data.lazy import Inputs, LazyInputs, highest_value
from noiselimit.data.tables import Table
from noiselimit.errors import InputError


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and labels in canonical form; `make_examples` brings anything else to it and checks it."""

    inputs: Inputs  # [n, features] float32, or [n, channels, height, width] uint8 or float32
    labels: Labels  # [n], as given: some of them may be wrong; −1 for one that is missing, which audits allow
    class_names: tuple[str, ...]
    clean_labels: Labels | None = None  # [n]
    weights: npt.NDArray[np.float32] | None = None  # [n] ≥ 0: how much each example counts in training
    label_sets: Mapping[str, Labels] = field(default_factory=dict)  # other given labels [n] by name
    names: Sequence[str] | None = None  # [n] what each example is called where it came from, such as a file

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.class_names)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input: [features] or [channels, height, width]."""
        return self.inputs.shape[1:]

    @property
    def wrong(self) -> npt.NDArray[np.bool_] | None:
        """[n], true where the given label is not the clean one; None where clean labels are unknown."""
        return None if self.clean_labels is None else (self.labels != self.clean_labels) & (self.labels >= 0)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the content: equal for equal examples, wherever they were read from."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(json.dumps(self.class_names).encode())
        if isinstance(self.inputs, LazyInputs):
            digest.update(self.inputs.digest)
        else:
            _add_array(digest, self.inputs)
        _add_array(digest, self.labels)
        _add_array(digest, self.clean_labels)
        # Only where there are any, so that data without them keep their fingerprint of old.
        if self.weights is not None:
            _add_array(digest, self.weights)
        for name in sorted(self.label_sets):
            digest.update(name.encode())
            _add_array(digest, self.label_sets[name])
        return digest.hexdigest()


def _add_array(digest: "hashlib.blake2b", array: npt.NDArray[Any] | None) -> None:
    if array is None:
        digest.update(b"none")
    else:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)


@dataclass(frozen=True, eq=False)
class DataSet:
    """Examples to train on and, where the data set has one, its official test part."""

    name: str
    examples: Examples
    test: Examples | None = None
    table: Table | None = None
    """How rows of a table became inputs, for data that were one: new rows are encoded alike."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings of a RunSpec that the command line takes for these data where the user names none."""
    notes: tuple[str, ...] = ()
    """What reading the data had to tell, such as pictures that were skipped."""
    validation: Examples | None = None
    """An official validation part, with labels cleaner than those of the examples, where there is one."""
    resize: int | None = None
    """Side to which pictures from files were scaled before their window was cut: new ones are cut alike."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", as_text(self.name))  # it is that of a file, and goes into others
        for part, name in ((self.test, "test"), (self.validation, "validation")):
            if part is not None:
                self._require_alike(part, name)

    def _require_alike(self, part: Examples, name: str) -> None:
        for what, ours, theirs in (
            ("input shape", list(self.examples.input_shape), list(part.input_shape)),
            ("class names", list(self.examples.class_names), list(part.class_names)),
            ("values", *_scales(self.examples.inputs, part.inputs)),
        ):
            if ours != theirs:
                raise InputError(
                    f"{self.name}: the {name} part has {what} {theirs} but the training part {ours}; "
                    "prepare both parts alike."
                )

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the content of all parts and of the table's columns; the name does not count."""
        parts = [part.fingerprint if part else "none" for part in (self.examples, self.test)]
        if self.validation is not None:
            parts.append(self.validation.fingerprint)
        if self.table is not None:  # else a renamed column would find a run that asks for the old one
            parts.append(json.dumps(self.table.to_json()))
        return hashlib.blake2b(":".join(parts).encode(), digest_size=16).hexdigest()


def _scales(first: Inputs, second: Inputs) -> tuple[str, str]:
    """How two sets of pictures are scaled, where one holds bytes and the other fractions of them."""
    both = (first, second)
    if first.dtype == second.dtype:
        return "alike", "alike"
    sizes = [
        "up to 1" if part.dtype != np.uint8 and highest_value(part) <= 1 else "up to 255" for part in both
    ]
    return sizes[0], sizes[1]


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
) -> Examples:
    """Check inputs and labels [n] of any usual type and bring them to canonical form.

    Labels are numbers 0 … k − 1 or strings; without `class_names`, the classes are those that occur.
    `source` names the data in messages. `may_lack_classes` is for a test part, which need not have them all.
    """
    ready_inputs = inputs if isinstance(inputs, LazyInputs) else canonical_inputs(inputs, source)
    given = _labels_for(ready_inputs, labels, source, "label")
    classes = find_class_names(given, source) if class_names is None else _checked_names(class_names, source)
    if len(classes) < 2:
        raise InputError(f"{source}: there is only one class; a classifier needs examples of at least two.")
    encoded = encode_labels(given, classes, source)
    if not may_lack_classes:
        _require_every_class(encoded, classes, source)
    if clean_labels is not None:
        clean = _labels_for(ready_inputs, clean_labels, source, "clean label")
        clean_labels = encode_labels(clean, classes, source, "clean label")
    others = {
        name: encode_labels(
            _labels_for(ready_inputs, other, source, f"{name} label"), classes, source, f"{name} label"
        )
        for name, other in (label_sets or {}).items()
    }
    return Examples(
        ready_inputs,
        encoded,
        classes,
        clean_labels,
        _checked_weights(ready_inputs, weights, source),
        others,
        names,
    )


def _checked_weights(inputs: Inputs, weights: Any, source: str) -> npt.NDArray[np.float32] | None:
    if weights is None:
        return None
    array = as_array(weights, source, "weights")
    if array.shape != (len(inputs),) or array.dtype.kind not in "biuf":
        raise InputError(
            f"{source}: weights have shape {list(array.shape)} and type {array.dtype}; "
            f"give one number per example, {len(inputs)} in all."
        )
    with np.errstate(over="ignore"):
        converted = array.astype(np.float32)
    possible = np.isfinite(converted) & (converted >= 0)
    if not possible.all():
        row = int(np.argmin(possible))
        raise InputError(f"{source}: the weight in row {row} is {array[row]}; give a finite number ≥ 0.")
    if not converted.any():
        raise InputError(f"{source}: all weights are 0; give some examples a weight above 0.")
    return converted


def _labels_for(inputs: Inputs, labels: Any, source: str, what: str) -> npt.NDArray[Any]:
    """Labels as numbers or strings, one for each input."""
    array = read_labels(labels, source, what)
    if len(array) != len(inputs):
        raise InputError(
            f"{source}: there are {len(inputs)} inputs but {len(array)} {what}s; give one {what} per input."
        )
    return array


def _checked_names(class_names: Sequence[str], source: str) -> tuple[str, ...]:
    names = tuple(class_names)
    if not all(isinstance(name, str) and name for name in names):
        raise InputError(
            f"{source}: class_names must be strings with at least one letter; give one per class."
        )
    for name in names:
        if not is_text(name):
            raise InputError(f"{source}: class name {str(name)!r} is not valid text; rename the class.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{source}: class_names has '{twice}' twice; give each class its own name.")
    return tuple(str(name) for name in names)  # plain strings also where NumPy's came in


def _require_every_class(labels: Labels, names: tuple[str, ...], source: str) -> None:
    counts = np.bincount(labels, minlength=len(names))
    if not counts.all():
        number = int(np.argmin(counts))
        raise InputError(
            f"{source}: class {number} ('{names[number]}') has no example; add one or leave it out of the "
            f"{len(names)} class_names."
        )


MISSING_LABEL = -1

Flags = npt.NDArray[np.bool_]


def fill_labels(labels: Any, source: str) -> tuple[npt.NDArray[Any], Flags]:
    """(labels [n], which were missing [n]): None, NaN and empty text are replaced by a label that occurs.

    So the labels can be checked and encoded like any others, row by row; `without_labels` takes those that
    nobody gave away again.
    """
    if isinstance(labels, list | tuple):  # NumPy would make strings of ["a", None, 3] without a word
        labels = pd.Series(list(labels), dtype=object).to_numpy()
    if isinstance(labels, pd.Series) and not isinstance(labels.dtype, np.dtype):
        labels = labels.to_numpy(dtype=object)
    found = as_array(labels, source, "labels")
    if found.ndim != 1:  # which those who encode it say
        return found, np.zeros(len(found) if found.ndim else 0, bool)
    missing = np.asarray(pd.isna(found)) if found.dtype.kind in "Of" else np.zeros(len(found), bool)
    if found.dtype.kind in "OU":
        missing = missing | np.array([isinstance(label, str) and not label.strip() for label in found], bool)
    if missing.all():
        raise InputError(f"{source}: there is no label at all; give examples of at least two classes one.")
    if missing.any():
        found = found.copy()
        found[missing] = found[np.argmin(missing)]
    return found, missing


def without_labels(examples: Examples, missing: Flags) -> Examples:
    """The examples with −1 for the labels [n] that are missing."""
    if not missing.any():
        return examples
    return dataclasses.replace(examples, labels=np.where(missing, MISSING_LABEL, examples.labels))


def is_labelled(examples: Examples) -> Flags:
    """[n]"""
    return np.asarray(examples.labels != MISSING_LABEL)


def require_labels(examples: Examples, source: str) -> None:
    """Refuse examples without a label, with one sentence: only an audit knows what to do with them."""
    there = is_labelled(examples)
    if not there.all():
        raise InputError(
            f"{source}: {int((~there).sum())} examples have no label, the first of them in row "
            f"{int(np.argmin(there))}, and only an audit can use such; label or remove them."
        )


def take_examples(examples: Examples, rows: npt.NDArray[np.int64]) -> Examples:
    """These rows [m] alone, in this order."""
    inputs, clean, weights, names = examples.inputs, examples.clean_labels, examples.weights, examples.names
    return dataclasses.replace(
        examples,
        inputs=inputs.take(rows.tolist()) if isinstance(inputs, LazyInputs) else inputs[rows],
        labels=examples.labels[rows],
        clean_labels=None if clean is None else clean[rows],
        weights=None if weights is None else weights[rows],
        label_sets={name: labels[rows] for name, labels in examples.label_sets.items()},
        names=None if names is None else [names[row] for row in rows],
    )
