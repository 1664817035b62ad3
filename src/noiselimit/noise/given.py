"""Given noise: labels that somebody else has already made, from the data or from a file."""

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
from noiselimit.noise.base import Matrix, Noise, no_transition

SUFFIXES = (".npy", ".csv", ".txt", ".npz")  # the last is known only to be refused with the reason


def read_label_file(path: Path) -> npt.NDArray[Any] | list[str]:
    """The labels [n] in a .npy file, or one on each line of a .csv or .txt file; empty lines do not count."""
    try:
        match path.suffix.lower():
            case ".npy":
                with path.open("rb") as file:
                    return read_npy(file)
            case ".txt":
                with _text(path) as text:
                    return [line.strip() for line in text.read().splitlines() if line.strip()]
            case ".csv":
                with _text(path) as text:
                    return [
                        _only_column(row, path, number) for number, row in enumerate(csv.reader(text)) if row
                    ]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a readable file.") from None
    except (ValueError, csv.Error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read as labels ({error}); write it anew.") from None
    if path.suffix.lower() == ".npz":
        raise InputError(
            f"{path}: an archive may hold several arrays; save the labels alone with numpy.save."
        )
    raise InputError(f"{path}: labels must come in a .npy, .csv or .txt file; convert it.")


def _text(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="")


def digest_of(labels: npt.NDArray[Any]) -> str:
    """16 hexadecimal digits that stand for these labels, int64 or strings, and their order."""
    digest = hashlib.blake2b(digest_size=8)
    if labels.dtype.kind == "U":
        for label in labels.tolist():
            digest.update(label.encode() + b"\0")
    else:
        digest.update(np.ascontiguousarray(labels, dtype="<i8").data)
    return digest.hexdigest()


def _only_column(row: list[str], path: Path, number: int) -> str:
    if len(row) > 1:
        raise InputError(
            f"{path}: row {number} has {len(row)} columns; keep the labels alone, one on each line."
        )
    return row[0].strip()


@final
@dataclass(frozen=True)
class GivenNoise(Noise):
    """The labels of one of the data's label sets; or labels of a file, known by their digest.

    A run's spec keeps the digest only, because it is there to be read and a million labels are not; a noise
    that comes from a spec can therefore be shown but not applied.
    """

    kind: ClassVar[str] = "given"
    name: str  # of the label set, or of the file without its folder
    digest: str | None = None  # of the file's labels; None for a label set
    labels: npt.NDArray[Any] | None = field(default=None, compare=False, repr=False)  # [n] as in the file

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(
                f"given noise of {self.name!r} is not possible; "
                "name a label set as in given:worst, or a file as in given:labels.csv."
            )
        if self.digest is not None and not isinstance(self.digest, str):
            raise InputError(f"given noise has the digest {self.digest!r}; correct it in the spec.")

    @classmethod
    def from_labels(cls, labels: Any, name: str = "labels") -> Self:
        """From labels [n], numbers or class names; the name stands in messages and in a run's spec."""
        read = read_labels(labels, name).copy()
        read.flags.writeable = False
        return cls(name, digest_of(read), read)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """From the name of a label set, or from a path with a folder or an ending of a label file."""
        path = Path(text)
        if path.suffix.lower() in SUFFIXES or len(path.parts) > 1:
            return cls.from_labels(read_label_file(path), path.name)
        return cls(text.strip())

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        if isinstance(parameter, dict) and parameter.keys() == {"file", "digest"}:
            return cls(parameter["file"], parameter["digest"])
        return cls(parameter)  # type: ignore[arg-type]  # checked on creation

    @property
    def parameter(self) -> str | dict[str, Any]:
        return self.name if self.digest is None else {"file": self.name, "digest": self.digest}

    def transition(self, class_names: Sequence[str]) -> Matrix:
        raise no_transition(self.kind, "only one draw of it is known")

    def posteriors(self, examples: Examples, seed: int) -> None:
        """None: one label per example does not say how probable the others were."""

    def draw(self, examples: Examples, seed: int) -> Labels:
        """The given labels [n], whatever the seed."""
        if self.digest is None:
            return self._label_set(examples).copy()
        if self.labels is None:
            raise InputError(
                f"{self.name}: a run's spec keeps only the digest of given labels; "
                "name the file again, as given:FILE."
            )
        if len(self.labels) != len(examples):
            raise InputError(
                f"{self.name}: there are {len(self.labels)} labels but {len(examples)} examples; "
                "give one label per example, in the data's order."
            )
        return encode_given(self.labels, examples.class_names, self.name)

    def _label_set(self, examples: Examples) -> Labels:
        if self.name in examples.label_sets:
            return examples.label_sets[self.name]
        if examples.label_sets:
            raise unknown("label set of given noise", self.name, examples.label_sets)
        raise InputError(
            f"noise 'given:{self.name}' asks for a label set but the data have none; take data that have, "
            "such as cifar10n, or name a file of labels as given:FILE."
        )


def encode_given(labels: npt.NDArray[Any], class_names: Sequence[str], source: str) -> Labels:
    """Labels [n] as numbers of classes: names where all of them are, as text, else numbers from 0.

    Whether the file holds numbers or text says nothing, since classes may be called 1, 2, 3. Where both ways
    are open and differ, it is an error.
    """
    distinct, codes = np.unique(labels, return_inverse=True)
    number_of = {name: number for number, name in enumerate(class_names)}
    by_name = [number_of.get(str(label), -1) for label in distinct]
    by_number = [_whole_number(str(label)) for label in distinct]
    if -1 in by_name:
        numbers = labels if None in by_number else np.array(by_number)[codes]
        return encode_labels(read_labels(numbers, source), class_names, source)
    are_numbers = all(number is not None and 0 <= number < len(class_names) for number in by_number)
    if are_numbers and by_name != by_number:
        raise InputError(
            f"{source}: the labels may be names of classes or their numbers from 0, which differ; "
            "rename the classes to words in the data and in the file."
        )
    return np.array(by_name, np.int64)[codes]


def _whole_number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
