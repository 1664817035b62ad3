"""CIFAR-10 and CIFAR-100: 50,000 training and 10,000 test pictures [3, 32, 32] uint8, in two versions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.data import cifar_names
from noiselimit.data.cifar_binary import read_binary, read_names_file
from noiselimit.data.cifar_python import read_names_pickle, read_python
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.errors import InputError

DEFAULTS = {"network": "resnet-34", "augmentation": "flip-crop"}


@dataclass(frozen=True)
class Version:
    """One of the forms in which the data are published: the folder in its archive, and the files there."""

    folder: str
    train: tuple[str, ...]
    test: str
    names: str
    read: Callable[[Path], tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]]
    read_names: Callable[[Path], list[Any]]


@dataclass(frozen=True)
class Cifar:
    """One of the two data sets."""

    name: str
    class_names: tuple[str, ...]  # as published, where the file of names is missing
    binary: Version
    python: Version


CIFAR10 = Cifar(
    "cifar10",
    cifar_names.CIFAR10,
    Version(
        "cifar-10-batches-bin",
        tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
        "test_batch.bin",
        "batches.meta.txt",
        partial(read_binary, label_bytes=1),
        read_names_file,
    ),
    Version(
        "cifar-10-batches-py",
        tuple(f"data_batch_{number}" for number in range(1, 6)),
        "test_batch",
        "batches.meta",
        partial(read_python, label_key="labels"),
        partial(read_names_pickle, key="label_names"),
    ),
)
CIFAR100 = Cifar(
    "cifar100",
    cifar_names.CIFAR100,
    Version(
        "cifar-100-binary",
        ("train.bin",),
        "test.bin",
        "fine_label_names.txt",
        partial(read_binary, label_bytes=2),
        read_names_file,
    ),
    Version(
        "cifar-100-python",
        ("train",),
        "test",
        "meta",
        partial(read_python, label_key="fine_labels"),
        partial(read_names_pickle, key="fine_label_names"),
    ),
)


def find_version(cifar: Cifar, folder: Path) -> tuple[Version, Path] | None:
    """The version that is in the folder, or in the folder of its official name there; binary comes first."""
    for version in (cifar.binary, cifar.python):
        for place in (folder / version.folder, folder):
            if (place / version.train[0]).is_file():
                return version, place
    return None


def read_cifar(cifar: Cifar, folder: Path) -> DataSet:
    """The data set with fine labels and its official test part."""
    found = find_version(cifar, folder)
    if found is None:
        raise InputError(
            f"{folder}: there is no {cifar.binary.train[0]} of {cifar.name} here; name another folder."
        )
    version, place = found
    names = _class_names(cifar, version, place)
    train = _read_part(version, place, version.train, names)
    test = _read_part(version, place, (version.test,), names, may_lack_classes=True)
    return DataSet(cifar.name, train, test, defaults=DEFAULTS)


def _class_names(cifar: Cifar, version: Version, place: Path) -> tuple[str, ...]:
    path = place / version.names
    if not path.is_file():
        return cifar.class_names
    names = tuple(version.read_names(path))
    if len(names) != len(cifar.class_names):
        raise InputError(
            f"{path}: there are {len(names)} class names instead of {len(cifar.class_names)}; "
            "fetch the file again or remove it."
        )
    return names


def _read_part(
    version: Version,
    place: Path,
    files: tuple[str, ...],
    names: tuple[str, ...],
    *,
    may_lack_classes: bool = False,
) -> Examples:
    """One after another the examples of the files; pictures are held twice at most, and as bytes."""
    pictures, labels = [], []
    for name in files:
        some_pictures, some_labels = version.read(place / name)
        known = some_labels < len(names)
        if not known.all():
            record = int(np.argmin(known))
            raise InputError(
                f"{place / name}: record {record} has label {some_labels[record]} but labels go from 0 to "
                f"{len(names) - 1}; fetch the file again."
            )
        pictures.append(some_pictures)
        labels.append(some_labels)
    return make_examples(
        np.concatenate(pictures),
        np.concatenate(labels),
        class_names=names,
        source=str(place),
        may_lack_classes=may_lack_classes,
    )
