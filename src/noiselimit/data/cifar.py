"""The binary versions of CIFAR-10 and CIFAR-100 from their authors' page, which publishes the MD5 sums."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.data.download import Progress, Published, extract, fetched, has_digest
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.safe_pickle import read_pickle
from noiselimit.errors import InputError
from noiselimit.files import open_regular, read_small_text

_TEN = "airplane automobile bird cat deer dog frog horse ship truck"
_HUNDRED = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can
castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin
elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard
lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear
pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark
shrew skunk skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone
television tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""
CIFAR10_NAMES = tuple(_TEN.split())
CIFAR100_NAMES = tuple(_HUNDRED.split())


PICTURE = (3, 32, 32)  # planes red, green, blue; rows; columns
PICTURE_BYTES = 3 * 32 * 32


def read_binary(path: Path, label_bytes: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]:
    """The pictures [n, 3, 32, 32] and labels [n] in a file; the last label byte is the fine label."""
    try:
        with open_regular(path) as file:
            content = np.fromfile(file, np.uint8)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); fetch the file again.") from None
    size = label_bytes + PICTURE_BYTES
    count, rest = divmod(len(content), size)
    if rest or not count:
        raise InputError(
            f"{path}: record {count} has {rest} bytes instead of {size}; the file is cut off or of another "
            "kind, so fetch it again."
        )
    records = content.reshape(count, size)
    return records[:, label_bytes:].reshape(count, *PICTURE), records[:, label_bytes - 1]


def read_names_file(path: Path) -> list[Any]:
    """Class names, one a line."""
    try:
        lines = read_small_text(path).splitlines()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError(f"{path}: cannot be read ({reason}); fetch the file again or remove it.") from None
    return [line.strip() for line in lines if line.strip()]


def read_python(path: Path, label_key: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]:
    """The pictures [n, 3, 32, 32] and labels [n] in a batch file."""
    batch = _dictionary(path)
    data, labels = _entry(path, batch, "data"), _entry(path, batch, label_key)
    if (
        not isinstance(data, np.ndarray)
        or data.dtype != np.uint8
        or data.ndim != 2
        or data.shape[1] != PICTURE_BYTES
    ):
        raise InputError(
            f"{path}: 'data' is no uint8 array of shape [n, {PICTURE_BYTES}]; fetch the file again."
        )
    if not isinstance(labels, list) or len(labels) != len(data):
        raise InputError(
            f"{path}: '{label_key}' is no list of {len(data)} labels, one a picture; fetch the file again."
        )
    for record, label in enumerate(labels):
        if type(label) is not int or not 0 <= label < 256:
            raise InputError(f"{path}: record {record} has a label that is no class; fetch the file again.")
    return data.reshape(len(data), *PICTURE), np.array(labels, dtype=np.uint8)


def read_names_pickle(path: Path, key: str) -> list[Any]:
    """Class names from the pickled description of the data set."""
    names = _entry(path, _dictionary(path), key)
    if not isinstance(names, list):
        raise InputError(f"{path}: '{key}' is no list; fetch the file again or remove it.")
    return [name.decode("latin-1") if isinstance(name, bytes) else name for name in names]


def _dictionary(path: Path) -> dict[Any, Any]:
    value = read_pickle(path)
    if not isinstance(value, dict):
        raise InputError(f"{path}: this pickle is no dictionary; fetch the official file again.")
    return value


def _entry(path: Path, values: dict[Any, Any], key: str) -> Any:
    """What stands under the key, which Python 2 wrote as bytes."""
    found = values.get(key.encode(), values.get(key))
    if found is None:
        raise InputError(f"{path}: there is no '{key}' in this pickle; fetch the official file again.")
    return found


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
    CIFAR10_NAMES,
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
    CIFAR100_NAMES,
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


MIRRORS = ("https://www.cs.toronto.edu/~kriz/",)
MOST_BYTES = 256 * 2**20  # the archives have 170 MB, and CIFAR-100's training file 154 MB
REMEDY = "unpack the archive in a folder by other means and name it with --data-dir."


@dataclass(frozen=True)
class Archive:
    """An archive of a binary version and the MD5 sums of its files of examples."""

    file: Published
    digests: Mapping[str, str]


ARCHIVES = {
    "cifar10": Archive(
        Published(
            "cifar-10-binary.tar.gz",
            "c32a1d4ab5d03f1284b67883e8d87530",
            MIRRORS,
            MOST_BYTES,
            "CIFAR-10",
            REMEDY,
        ),
        {
            "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
            "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
            "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
            "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
            "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
            "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
        },
    ),
    "cifar100": Archive(
        Published(
            "cifar-100-binary.tar.gz",
            "03b5dce01913d631647c71ecec9e9cb8",
            MIRRORS,
            MOST_BYTES,
            "CIFAR-100",
            REMEDY,
        ),
        {
            "train.bin": "6172c7755cfe09b2fe270c85cebc1b15",
            "test.bin": "4499cfba6c016c1be1438163640a0898",
        },
    ),
}


def download_cifar(cifar: Cifar, folder: Path, progress: Progress | None = None) -> None:
    """Fetch the binary version, unless all of it is there or the python version is."""
    version, place = find_version(cifar, folder) or (cifar.binary, folder / cifar.binary.folder)
    archive = ARCHIVES[cifar.name]
    if version is cifar.python or _is_whole(place, archive):
        return
    names = (*archive.digests, cifar.binary.names)
    with fetched(archive.file, progress) as content:
        targets = {f"{cifar.binary.folder}/{name}": place / name for name in names}
        extract(content, targets, MOST_BYTES, archive.file.name)


def _is_whole(place: Path, archive: Archive) -> bool:
    return all(has_digest(place / name, digest, MOST_BYTES) for name, digest in archive.digests.items())
