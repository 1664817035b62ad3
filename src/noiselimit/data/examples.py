"""Examples: inputs, the labels they were given and, where known, the clean ones."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.data.inputs import as_array, canonical_inputs
from noiselimit.data.labels import Labels, as_text, encode_labels, find_class_names, is_text, read_labels
from noiselimit.data.lazy import Inputs, LazyInputs, highest_value
from noiselimit.data.table import Table
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
