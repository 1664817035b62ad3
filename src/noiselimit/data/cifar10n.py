"""CIFAR-10N: CIFAR-10 with the labels that people gave anew, as further sets of given labels."""

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from noiselimit.data.cifar import CIFAR10, download_cifar, find_version, read_cifar
from noiselimit.data.download import Progress, Published, download, has_digest
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.npz import UNREADABLE, read_arrays
from noiselimit.data.reading import require_modest
from noiselimit.data.safe_pickle import MOST_BYTES, plain_value
from noiselimit.errors import InputError
from noiselimit.files import open_regular

FOLDERS = ("cifar10n", "cifar-10n")
CLEAN = "clean_label"
LABEL_SETS = {
    "aggre": "aggre_label",
    "rand1": "random_label1",
    "rand2": "random_label2",
    "rand3": "random_label3",
    "worst": "worse_label",
}
ARCHIVE, OFFICIAL, SHUFFLED = "cifar10n.npz", "CIFAR-10_human.pt", "CIFAR-10_human_ordered.npy"
# The authors publish no checksum; this is that of the file in the commit that the address names.
PUBLISHED = Published(
    OFFICIAL,
    "873e69c39cb9b5e97fb6bae2d60bb59b38a5cbc31d2b868f7903dcb2b9dd2310",
    (
        "https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/49df7d8a69e355470c77c1c2f2424916325a394b/data/",
    ),
    8 * 2**20,
    "CIFAR-10N",
    f"put {OFFICIAL} in a folder by other means and name it with --data-dir.",
)


def holds_cifar10n(folder: Path) -> bool:
    """Whether both the labels and CIFAR-10 itself can be found from this folder."""
    return _label_file(folder) is not None and _cifar10_folder(folder) is not None


def read_cifar10n(folder: Path) -> DataSet:
    """CIFAR-10 with `label_sets` aggre, rand1, rand2, rand3 and worst."""
    path, pictures = _label_file(folder), _cifar10_folder(folder)
    if path is None or pictures is None:
        raise InputError(f"{folder}: {OFFICIAL} or CIFAR-10 is not here; name another folder.")
    data = read_cifar(CIFAR10, pictures)
    labels = _read_labels(path)
    given = data.examples.labels
    clean = np.asarray(labels[CLEAN])
    if clean.shape != given.shape:
        raise InputError(
            f"{path}: labels of shape {list(clean.shape)} do not go with {len(given)} pictures; "
            "fetch both again."
        )
    if not np.array_equal(clean, given):
        row = int(np.argmax(clean != given))
        raise InputError(
            f"{path}: the clean label in row {row} is {clean[row]} but CIFAR-10's is {given[row]}; "
            "the labels are in another order, so fetch both again."
        )
    examples = make_examples(
        data.examples.inputs,
        given,
        class_names=data.examples.class_names,
        label_sets={name: labels[key] for name, key in LABEL_SETS.items()},
        source=str(path),
    )
    return replace(data, name="cifar10n", examples=examples)


def download_cifar10n(folder: Path, progress: Progress | None = None) -> None:
    """Fetch the labels, and CIFAR-10 unless it is in the folder or beside it."""
    path = _label_file(folder)
    if path is None or path.name == SHUFFLED:
        path = folder / OFFICIAL
    if path.name == OFFICIAL and not has_digest(path, PUBLISHED.digest, PUBLISHED.most_bytes):
        download(PUBLISHED, path, progress)
    download_cifar(CIFAR10, _cifar10_folder(folder) or folder, progress)


def _label_file(folder: Path) -> Path | None:
    places = (folder, *(folder / name for name in FOLDERS))
    paths = (place / name for name in (ARCHIVE, OFFICIAL, SHUFFLED) for place in places)
    return next((path for path in paths if path.is_file()), None)


def _cifar10_folder(folder: Path) -> Path | None:
    """Where CIFAR-10 is: in the folder, or beside it where the folder is that of CIFAR-10N."""
    parents = (folder, folder.parent) if folder.name in FOLDERS else (folder,)
    places = (place for parent in parents for place in (parent, parent / CIFAR10.name))
    return next((place for place in places if find_version(CIFAR10, place)), None)


def _read_labels(path: Path) -> Mapping[str, Any]:
    """The vectors of labels [50000] by the names that their authors use."""
    if path.name == SHUFFLED:
        raise InputError(
            f"{path}: these labels are in the order of TensorFlow's copy of CIFAR-10; "
            f"take {OFFICIAL} from the same place instead."
        )
    try:
        labels = read_arrays(path) if path.name == ARCHIVE else _read_official(path)
    except InputError:
        raise
    except (*UNREADABLE, KeyError):
        raise InputError(f"{path}: the file is damaged or of another kind; fetch it again.") from None
    for key in (CLEAN, *LABEL_SETS.values()):
        if not isinstance(labels.get(key), np.ndarray):
            raise InputError(f"{path}: there is no array '{key}'; fetch the file again.")
    return labels


def _read_official(path: Path) -> dict[Any, Any]:
    """What torch saved: a pickle in a zip file. Its arrays are NumPy's, so the pickle holds them whole."""
    with open_regular(path) as file, zipfile.ZipFile(file) as members:
        require_modest(path, sum(info.file_size for info in members.infolist()))
        names = (name for name in members.namelist() if name.endswith("/data.pkl"))
        with members.open(next(names, "data.pkl")) as member:
            content = member.read(MOST_BYTES)
    labels = plain_value(content, str(path))
    return labels if isinstance(labels, dict) else {}
