"""Given noise: labels from another source, in the data or in a file."""

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Labels, encode_labels, read_labels
from noiselimit.data.examples import Examples
from noiselimit.errors import InputError
from noiselimit.noise.base import Noise, read_file


@dataclass(frozen=True)
class GivenNoise(Noise):
    """The labels of one of the data's label sets, or of a file, of which a run's spec keeps only the digest.

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
            raise InputError(f"given noise is {self.name!r}: name a label set, or a file such as labels.csv.")

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
        parsers = {".csv": _parse_column, ".txt": _parse_lines}
        if path.suffix.lower() in (".npy", *parsers) or len(path.parts) > 1:
            return cls.from_labels(read_file(path, "labels", parsers), path.name)
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
        """Return the given labels [n]; the seed has no effect."""
        if self.digest is None:
            if self.name in examples.label_sets:
                return examples.label_sets[self.name].copy()
            known = ", ".join(map(repr, examples.label_sets)) or "none"
            raise InputError(
                f"the data have no label set '{self.name}' (they have {known}): use data such as cifar10n, "
                "or name a file of labels as given:FILE."
            )
        if self.labels is None:
            raise InputError(
                f"{self.name}: a run keeps only the digest of given labels; name given:FILE again."
            )
        if len(self.labels) != len(examples):
            counts = f"{len(self.labels)} labels but {len(examples)} examples"
            raise InputError(f"{self.name}: {counts}; give one for each.")
        return _encode(self.labels, examples.class_names, self.name)


def _digest(labels: npt.NDArray[Any]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    if labels.dtype.kind == "U":
        for label in labels.tolist():
            digest.update(label.encode() + b"\0")
    else:
        digest.update(np.ascontiguousarray(labels, dtype="<i8").data)
    return digest.hexdigest()


def _parse_column(text: str) -> list[str]:
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if any(len(row) > 1 for row in rows):
        raise ValueError("there is more than one column")
    return [row[0].strip() for row in rows]


def _parse_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _encode(labels: npt.NDArray[Any], class_names: Sequence[str], source: str) -> Labels:
    """Return labels [n] as class numbers. The file's labels are names if all of them are, else numbers.

    Classes may be called 1, 2, 3, so labels can be both; if the two readings differ, that is an error.
    """
    distinct, codes = np.unique(labels.astype(str), return_inverse=True)
    number_of = {name: number for number, name in enumerate(class_names)}
    by_name = [number_of.get(label, -1) for label in distinct]
    by_number = [int(label) if label.lstrip("-").isdecimal() else None for label in distinct]
    if -1 in by_name:
        return encode_labels(labels if None in by_number else np.array(by_number)[codes], class_names, source)
    if by_number != by_name and set(by_number) <= set(range(len(class_names))):
        raise InputError(
            f"{source}: the labels differ, read as class names and as class numbers from 0; "
            "rename the classes to words in the data and in the file."
        )
    return np.array(by_name, np.int64)[codes]
