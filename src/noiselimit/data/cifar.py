"""CIFAR-10 and CIFAR-100 in their binary and python versions, and CIFAR-10N's labels by people."""

import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from noiselimit.data.download import Progress, Published, download, extract, fetched, has_digest
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.npz import read_arrays
from noiselimit.data.reading import readable, require_modest
from noiselimit.errors import InputError

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
PICTURE_BYTES = 3 * 32 * 32
DEFAULTS = {"network": "resnet-34", "augmentation": "flip-crop"}
MOST_BYTES = 256 * 2**20  # the archives have 170 MB, and CIFAR-100's training file 154 MB
MIRRORS = ("https://www.cs.toronto.edu/~kriz/",)  # the authors' page, which publishes the MD5 sums
AGAIN = "download the file again"
HINT = "unpack the archive in a folder yourself and name it with --data-dir."

Batch = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Pictures [n, 3072] and labels [n]."""


@dataclass(frozen=True)
class Cifar:
    """The files of one of the two data sets. Those of the binary version end in .bin."""

    name: str
    class_names: tuple[str, ...]
    train: tuple[str, ...]
    test: str
    binary_folder: str
    label_bytes: int
    """Bytes before a picture in the binary version; the last one is the fine label."""
    python_folder: str
    label_key: str
    archive: Published
    digests: Mapping[str, str]
    """MD5 sums of the files in the binary version."""


def _archive(name: str, md5: str) -> Published:
    return Published(name, md5, MIRRORS, MOST_BYTES, HINT)


CIFAR10 = Cifar(
    "cifar10",
    tuple(_TEN.split()),
    tuple(f"data_batch_{number}" for number in range(1, 6)),
    "test_batch",
    "cifar-10-batches-bin",
    1,
    "cifar-10-batches-py",
    "labels",
    _archive("cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),
    {
        "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
        "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
    },
)
CIFAR100 = Cifar(
    "cifar100",
    tuple(_HUNDRED.split()),
    ("train",),
    "test",
    "cifar-100-binary",
    2,
    "cifar-100-python",
    "fine_labels",
    _archive("cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"),
    {"train.bin": "6172c7755cfe09b2fe270c85cebc1b15", "test.bin": "4499cfba6c016c1be1438163640a0898"},
)


def find_cifar(cifar: Cifar, folder: Path) -> tuple[Path, bool] | None:
    """(the folder of the files, whether they are the binary version), in the folder or in a sub-folder."""
    for name, ending in ((cifar.binary_folder, ".bin"), (cifar.python_folder, "")):
        for place in (folder / name, folder):
            if (place / f"{cifar.train[0]}{ending}").is_file():
                return place, ending == ".bin"
    return None


def read_cifar(cifar: Cifar, folder: Path) -> DataSet:
    """The data set with fine labels and its test part, from either version."""
    found = find_cifar(cifar, folder)
    if found is None:
        raise InputError(f"{folder}: there is no {cifar.train[0]}.bin of {cifar.name}; name another folder.")
    place, binary = found
    train, test = (_read_part(cifar, place, files, binary) for files in (cifar.train, (cifar.test,)))
    return DataSet(cifar.name, train, test, defaults=DEFAULTS)


def download_cifar(cifar: Cifar, folder: Path, progress: Progress | None = None) -> None:
    """Download the binary version unless all of it, or the python version, is there."""
    place, binary = find_cifar(cifar, folder) or (folder / cifar.binary_folder, True)
    if not binary or all(has_digest(place / name, md5) for name, md5 in cifar.digests.items()):
        return
    targets = {f"{cifar.binary_folder}/{name}": place / name for name in cifar.digests}
    with fetched(cifar.archive, progress) as content:
        extract(content, targets, cifar.archive.name)


def _read_part(cifar: Cifar, place: Path, files: tuple[str, ...], binary: bool) -> Examples:
    batches = []
    for name in files:
        path = place / (f"{name}.bin" if binary else name)
        with readable(path, AGAIN):
            pictures, labels = _read_binary(path, cifar) if binary else _read_python(path, cifar)
            if pictures.dtype != np.uint8 or not 0 < len(pictures) == len(labels):
                raise ValueError("it does not hold as many images as labels")
            if not ((labels >= 0) & (labels < len(cifar.class_names))).all():
                raise ValueError(f"its labels are not those of {cifar.name}")
        batches.append((pictures.reshape(len(pictures), 3, 32, 32), labels))
    return make_examples(
        np.concatenate([pictures for pictures, _ in batches]),
        np.concatenate([labels for _, labels in batches]),
        class_names=cifar.class_names,
        source=str(place),
        may_lack_classes=files == (cifar.test,),
    )


def _read_binary(path: Path, cifar: Cifar) -> Batch:
    records = np.fromfile(path, np.uint8).reshape(-1, cifar.label_bytes + PICTURE_BYTES)
    return records[:, cifar.label_bytes :], records[:, cifar.label_bytes - 1]


def _read_python(path: Path, cifar: Cifar) -> Batch:
    with path.open("rb") as file:
        batch = _unpickle(file)
    # Python 2 wrote the keys as bytes.
    pictures, labels = (batch.get(key.encode(), batch.get(key)) for key in ("data", cifar.label_key))
    return np.asarray(pictures).reshape(-1, PICTURE_BYTES), np.asarray(labels)


class ArrayUnpickler(pickle.Unpickler):
    """Reads NumPy's arrays and plain values; nothing else that a file names is imported or called."""

    ALLOWED = (
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("_codecs", "encode"),  # how Python 3 writes bytes for Python 2
    )

    def find_class(self, module: str, name: str) -> Any:
        """The class or function of that name, if it is one of the few that arrays need."""
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _unpickle(file: IO[bytes]) -> dict[Any, Any]:
    """The dictionary in a pickle of arrays and plain values; text that Python 2 wrote comes as bytes."""
    value = ArrayUnpickler(file, encoding="bytes").load()
    if not isinstance(value, dict):
        raise ValueError("it is not a dictionary")
    return value


# CIFAR-10N: CIFAR-10 with labels that people gave, as further label sets.

CIFAR10N_FOLDERS = ("cifar10n", "cifar-10n")
CLEAN = "clean_label"
LABEL_SETS = {
    "aggre": "aggre_label",
    "rand1": "random_label1",
    "rand2": "random_label2",
    "rand3": "random_label3",
    "worst": "worse_label",
}
CONVERTED, OFFICIAL = "cifar10n.npz", "CIFAR-10_human.pt"
CIFAR10N_FILE = Published(
    OFFICIAL,
    # The authors publish no checksum; this is that of the file in the commit in the address.
    "873e69c39cb9b5e97fb6bae2d60bb59b38a5cbc31d2b868f7903dcb2b9dd2310",
    (
        "https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/49df7d8a69e355470c77c1c2f2424916325a394b/data/",
    ),
    8 * 2**20,
    f"put {OFFICIAL} in a folder yourself and name it with --data-dir.",
)


def holds_cifar10n(folder: Path) -> bool:
    """Whether both the labels and CIFAR-10 can be found from this folder."""
    return _label_file(folder) is not None and _cifar10_folder(folder) is not None


def read_cifar10n(folder: Path) -> DataSet:
    """CIFAR-10 with the label sets aggre, rand1, rand2, rand3 and worst."""
    path, pictures = _label_file(folder), _cifar10_folder(folder)
    if path is None or pictures is None:
        raise InputError(f"{folder}: {OFFICIAL} or CIFAR-10 is missing; name another folder.")
    data = read_cifar(CIFAR10, pictures)
    labels = _read_label_file(path)
    given, clean = data.examples.labels, labels[CLEAN]
    if not np.array_equal(clean, given):
        raise InputError(f"{path}: the clean labels differ from CIFAR-10's; download both again.")
    examples = make_examples(
        data.examples.inputs,
        given,
        class_names=data.examples.class_names,
        label_sets={name: labels[key] for name, key in LABEL_SETS.items()},
        source=str(path),
    )
    return replace(data, name="cifar10n", examples=examples)


def download_cifar10n(folder: Path, progress: Progress | None = None) -> None:
    """Download the labels, and CIFAR-10 unless it is in the folder or beside it."""
    path = _label_file(folder) or folder / OFFICIAL
    if path.name == OFFICIAL and not has_digest(path, CIFAR10N_FILE.digest):
        download(CIFAR10N_FILE, path, progress)
    download_cifar(CIFAR10, _cifar10_folder(folder) or folder, progress)


def _label_file(folder: Path) -> Path | None:
    places = (folder, *(folder / name for name in CIFAR10N_FOLDERS))
    paths = (place / name for name in (CONVERTED, OFFICIAL) for place in places)
    return next((path for path in paths if path.is_file()), None)


def _cifar10_folder(folder: Path) -> Path | None:
    """Where CIFAR-10 is: in the folder, or beside it if the folder is that of CIFAR-10N."""
    parents = (folder, folder.parent) if folder.name in CIFAR10N_FOLDERS else (folder,)
    places = (place for parent in parents for place in (parent, parent / CIFAR10.name))
    return next((place for place in places if find_cifar(CIFAR10, place)), None)


def _read_label_file(path: Path) -> Mapping[str, Any]:
    """The label arrays [50000] by the names that their authors use."""
    labels = read_arrays(path) if path.name == CONVERTED else _read_official(path)
    for key in (CLEAN, *LABEL_SETS.values()):
        if not isinstance(labels.get(key), np.ndarray):
            raise InputError(f"{path}: there is no array '{key}'; {AGAIN}.")
    return labels


def _read_official(path: Path) -> dict[Any, Any]:
    """torch saved NumPy arrays: the zip file has one pickle, which holds them whole."""
    with readable(path, AGAIN), zipfile.ZipFile(path) as archive:
        require_modest(path, sum(info.file_size for info in archive.infolist()))
        (name,) = (name for name in archive.namelist() if name.endswith("data.pkl"))
        with archive.open(name) as member:
            return _unpickle(member)
