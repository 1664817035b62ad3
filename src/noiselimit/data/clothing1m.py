"""Clothing1M: a million pictures from web shops, of whose labels about a third are wrong.

The authors (Xiao et al. 2015) share it on request: lists of keys, which are paths of pictures, lists of
keys with labels, and the folder `images`. The lists may also be in the sub-folder `annotations`.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.pictures import MARGIN, Cut, PictureCheck, PictureFiles, check_picture
from noiselimit.data.reading import Reading, readable
from noiselimit.errors import InputError

CATEGORIES = "category_names_eng.txt"
TRAIN_KEYS = "noisy_train_key_list.txt"
VALIDATION_KEYS = "clean_val_key_list.txt"
TEST_KEYS = "clean_test_key_list.txt"
NOISY_LABELS = "noisy_label_kv.txt"
CLEAN_LABELS = "clean_label_kv.txt"
LISTS = (TRAIN_KEYS, VALIDATION_KEYS, TEST_KEYS, NOISY_LABELS, CLEAN_LABELS)
SIDE = 224
DEFAULTS = {"network": "resnet-50", "epochs": 30, "augmentation": "flip-crop"}


def holds_clothing1m(folder: Path) -> bool:
    """Whether any of the lists is there; reading reports which others are missing."""
    return any((place / name).is_file() for place in _places(folder) for name in LISTS)


def clothing1m(folder: Path, reading: Reading) -> DataSet:
    """Training examples with noisy labels, clean validation and test parts; pictures [3, 224, 224], streamed.

    The training examples have clean labels only if all of them are known; in the published lists none is.
    """
    lists = next((place for place in _places(folder) if (place / TRAIN_KEYS).is_file()), folder)
    names = tuple(line for _, line in _lines(lists / CATEGORIES))
    noisy, clean = (_read_labels(lists / name, len(names)) for name in (NOISY_LABELS, CLEAN_LABELS))
    side = reading.resize or SIDE
    cut = Cut(side, side, round(side * MARGIN))
    check = PictureCheck("clothing1m", skip=reading.skip_bad_images)
    total = 0
    parts: dict[str, Examples] = {}
    for keys, labels in ((TRAIN_KEYS, noisy), (VALIDATION_KEYS, clean), (TEST_KEYS, clean)):
        given = _labelled_keys(lists / keys, labels)
        paths = list(given)
        total += len(paths)
        rows = check.good_rows(folder, paths, _require_picture if check.skip else _require_file)
        kept = [paths[row] for row in rows]
        all_clean = keys == TRAIN_KEYS and all(key in clean for key in given)
        parts[keys] = make_examples(
            PictureFiles(folder, kept, cut),
            np.array([given[key] for key in kept]),
            class_names=names,
            clean_labels=np.array([clean[key] for key in kept]) if all_clean else None,
            source=str(lists / keys),
            may_lack_classes=keys != TRAIN_KEYS,
            names=kept,
        )
    return DataSet(
        "clothing1m",
        parts[TRAIN_KEYS],
        parts[TEST_KEYS],
        defaults=DEFAULTS,
        notes=check.notes(total),
        validation=parts[VALIDATION_KEYS],
        resize=cut.resize,
    )


def _places(folder: Path) -> tuple[Path, Path]:
    return folder, folder / "annotations"


def _require_picture(row: int, path: str) -> None:
    check_picture(path)


def _require_file(row: int, path: str) -> None:
    """The quick check: decoding a million pictures takes an hour."""
    if not os.path.isfile(path) or not os.path.getsize(path):
        raise InputError(f"{path}: this image is missing or empty; restore it or use --skip-bad-images.")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank."""
    with readable(path, "unpack it with the other lists"), path.open(encoding="utf-8") as file:
        for position, line in enumerate(file, 1):
            if text := line.strip():
                yield position, text


def _read_labels(path: Path, classes: int) -> dict[str, int]:
    """Key → number of its category."""
    labels: dict[str, int] = {}
    for line, text in _lines(path):
        key, _, label = text.rpartition(" ")
        if not key or not label.isascii() or not label.isdigit() or int(label) >= classes:
            problem = f"line {line} is not a path and a category below {classes}"
            raise InputError(f"{path}: {problem}; unpack the lists again.")
        labels[key.rstrip()] = int(label)
    return labels


def _labelled_keys(path: Path, labels: Mapping[str, int]) -> dict[str, int]:
    """The keys of a list in its order, each once, with their labels."""
    found: dict[str, int] = {}
    for line, key in _lines(path):
        if key not in labels:
            raise InputError(f"{path}: {key} in line {line} has no label; unpack the lists again.")
        found[key] = labels[key]
    if not found:
        raise InputError(f"{path}: this list is empty; unpack it again.")
    return found
