"""Examples: inputs, the labels they were given and, where known, the clean ones."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.data.inputs import canonical_inputs
from noiselimit.data.labels import Labels, encode_labels, find_class_names, read_labels
from noiselimit.errors import InputError


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and labels in canonical form; `make_examples` brings anything else to it and checks it."""

    inputs: npt.NDArray[Any]  # [n, features] float32, or [n, channels, height, width] uint8 or float32
    labels: Labels  # [n], as given: some of them may be wrong
    class_names: tuple[str, ...]
    clean_labels: Labels | None = None  # [n]

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
        return None if self.clean_labels is None else self.labels != self.clean_labels

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the content: equal for equal examples, wherever they were read from."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(json.dumps(self.class_names).encode())
        for array in (self.inputs, self.labels, self.clean_labels):
            if array is None:
                digest.update(b"none")
            else:
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class DataSet:
    """Examples to train on and, where the data set has one, its official test part."""

    name: str
    examples: Examples
    test: Examples | None = None

    def __post_init__(self) -> None:
        if self.test is None:
            return
        for what, ours, theirs in (
            ("input shape", list(self.examples.input_shape), list(self.test.input_shape)),
            ("class names", list(self.examples.class_names), list(self.test.class_names)),
            ("values", *_scales(self.examples.inputs, self.test.inputs)),
        ):
            if ours != theirs:
                raise InputError(
                    f"{self.name}: the test part has {what} {theirs} but the training part {ours}; "
                    "prepare both parts alike."
                )

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the content of both parts; the name does not count."""
        parts = [part.fingerprint if part else "none" for part in (self.examples, self.test)]
        return hashlib.blake2b(":".join(parts).encode(), digest_size=16).hexdigest()


def _scales(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> tuple[str, str]:
    """How two sets of pictures are scaled, where one holds bytes and the other fractions of them."""
    if first.dtype == second.dtype:
        return "alike", "alike"
    sizes = [
        "up to 1" if part.dtype != np.uint8 and part.max() <= 1 else "up to 255" for part in (first, second)
    ]
    return sizes[0], sizes[1]


def make_examples(
    inputs: Any,
    labels: Any,
    *,
    class_names: Sequence[str] | None = None,
    clean_labels: Any = None,
    source: str = "inputs",
    may_lack_classes: bool = False,
) -> Examples:
    """Check inputs and labels [n] of any usual type and bring them to canonical form.

    Labels are numbers 0 … k − 1 or strings; without `class_names`, the classes are those that occur.
    `source` names the data in messages. `may_lack_classes` is for a test part, which need not have them all.
    """
    ready_inputs = canonical_inputs(inputs, source)
    given = _labels_for(ready_inputs, labels, source, "label")
    names = find_class_names(given, source) if class_names is None else _checked_names(class_names, source)
    if len(names) < 2:
        raise InputError(f"{source}: there is only one class; a classifier needs examples of at least two.")
    encoded = encode_labels(given, names, source)
    if not may_lack_classes:
        _require_every_class(encoded, names, source)
    if clean_labels is not None:
        clean = _labels_for(ready_inputs, clean_labels, source, "clean label")
        clean_labels = encode_labels(clean, names, source, "clean label")
    return Examples(ready_inputs, encoded, names, clean_labels)


def _labels_for(inputs: npt.NDArray[Any], labels: Any, source: str, what: str) -> npt.NDArray[Any]:
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
