"""Given noise: labels that somebody else has made, from the data or from a file."""

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, final

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Labels, encode_labels, read_labels
from noiselimit.data.examples import Examples
from noiselimit.data.npz import read_npy
from noiselimit.errors import InputError, unknown
from noiselimit.files import open_regular
from noiselimit.noise.base import Noise

SUFFIXES = (".npy", ".csv", ".txt", ".npz")  # .npz only to say why it is not accepted


@final
@dataclass(frozen=True)
class GivenNoise(Noise):
    """The labels of one of the data's label sets, or of a file.

    A run's spec keeps only the digest of a file's labels. A noise that was read from a spec can be shown but
    not applied.

    Parameters
    ----------
    name : str
        Name of the label set, or of the file without its folder.
    digest : str, optional
        Digest of the file's labels; None for a label set.
    labels : ndarray [n], optional
        The file's labels, numbers or class names.
    """

    kind: ClassVar[str] = "given"
    name: str
    digest: str | None = None
    labels: npt.NDArray[Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not isinstance(self.digest, str | None):
            raise InputError(
                f"given noise {self.name!r} is not possible: "
                "name a label set as in given:worst, or a file as in given:labels.csv."
            )

    @classmethod
    def from_labels(cls, labels: Any, name: str = "labels") -> Self:
        """Create it from labels [n], numbers or class names; `name` appears in messages and specs."""
        read = read_labels(labels, name).copy()
        read.flags.writeable = False
        return cls(name, _digest(read), read)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse the name of a label set, or a path with a folder or with a label file's suffix."""
        path = Path(text)
        if path.suffix.lower() in SUFFIXES or len(path.parts) > 1:
            return cls.from_labels(_read_label_file(path), path.name)
        return cls(text.strip())

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        if isinstance(parameter, dict) and parameter.keys() == {"file", "digest"}:
            return cls(parameter["file"], parameter["digest"])
        return cls(parameter)  # type: ignore[arg-type]  # checked on creation

    @property
    def parameter(self) -> str | dict[str, Any]:
        return self.name if self.digest is None else {"file": self.name, "digest": self.digest}

    def draw(self, examples: Examples, seed: int) -> Labels:
        """Return the given labels [n], whatever the seed."""
        if self.digest is None:
            if self.name in examples.label_sets:
                return examples.label_sets[self.name].copy()
            if examples.label_sets:
                raise unknown("label set of given noise", self.name, examples.label_sets)
            raise InputError(
                f"noise 'given:{self.name}' needs a label set, but the data have none: use data that have "
                "one, such as cifar10n, or name a file of labels as given:FILE."
            )
        if self.labels is None:
            raise InputError(
                f"{self.name}: a run's spec keeps only the digest of given labels, "
                "name the file again as given:FILE."
            )
        if len(self.labels) != len(examples):
            raise InputError(
                f"{self.name}: there are {len(self.labels)} labels but {len(examples)} examples, "
                "give one label per example in the data's order."
            )
        return _encode(self.labels, examples.class_names, self.name)


def _digest(labels: npt.NDArray[Any]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    if labels.dtype.kind == "U":
        for label in labels.tolist():
            digest.update(label.encode() + b"\0")
    else:
        digest.update(np.ascontiguousarray(labels, dtype="<i8").data)
    return digest.hexdigest()


def _read_label_file(path: Path) -> npt.NDArray[Any] | list[str]:
    """Read the labels in a .npy file, or one per line of a .csv or .txt file; empty lines are skipped."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        raise InputError(f"{path}: an archive may hold several arrays, save the labels with numpy.save.")
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: labels must come in a .npy, .csv or .txt file.")
    try:
        if suffix == ".npy":
            with open_regular(path) as file:
                return read_npy(file)
        with io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="") as text:
            if suffix == ".txt":
                return [line.strip() for line in text.read().splitlines() if line.strip()]
            rows = [row for row in csv.reader(text) if row]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}), name a readable file.") from None
    except (ValueError, csv.Error) as error:
        raise InputError(f"{path}: not readable as labels ({error}), write the file again.") from None
    if any(len(row) > 1 for row in rows):
        raise InputError(f"{path}: there is more than one column, keep only the labels, one per line.")
    return [row[0].strip() for row in rows]


def _encode(labels: npt.NDArray[Any], class_names: Sequence[str], source: str) -> Labels:
    """Return labels [n] as class numbers. The file's labels are names if all of them are, else numbers.

    Classes may be called 1, 2, 3, so labels can be both; if the two readings differ, that is an error.
    """
    distinct, codes = np.unique(labels, return_inverse=True)
    number_of = {name: number for number, name in enumerate(class_names)}
    by_name = [number_of.get(str(label), -1) for label in distinct]
    try:
        by_number = [int(str(label)) for label in distinct]
    except ValueError:
        by_number = None
    if -1 in by_name:
        numbers = labels if by_number is None else np.array(by_number)[codes]
        return encode_labels(read_labels(numbers, source), class_names, source)
    if by_number not in (None, by_name) and all(0 <= number < len(class_names) for number in by_number):
        raise InputError(
            f"{source}: the labels may be class names or class numbers from 0, which differ, "
            "rename the classes to words in the data and in the file."
        )
    return np.array(by_name, np.int64)[codes]
