"""Clothing1M: a million pictures from shops, labelled by the words around them, a third of them wrongly.

Its authors (Xiao et al. 2015) hand it out on request: lists of keys, which are paths of pictures, lists of
keys with labels, and the folder `images`. The lists may also lie in a folder `annotations`, too.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.pictures import (
    MARGIN,
    BadPictures,
    Cut,
    Paths,
    PictureFiles,
    check_picture,
    good_pictures,
    require_file,
    require_good_of_each,
)
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError
from noiselimit.files import open_regular

CATEGORIES = "category_names_eng.txt"
TRAIN_KEYS = "noisy_train_key_list.txt"
VALIDATION_KEYS = "clean_val_key_list.txt"
TEST_KEYS = "clean_test_key_list.txt"
NOISY_LABELS = "noisy_label_kv.txt"
CLEAN_LABELS = "clean_label_kv.txt"
LISTS = (CATEGORIES, TRAIN_KEYS, VALIDATION_KEYS, TEST_KEYS, NOISY_LABELS, CLEAN_LABELS)

SIDE = 224
DEFAULTS = {"network": "resnet-50", "epochs": 30, "augmentation": "flip-crop"}


def holds_clothing1m(folder: Path) -> bool:
    """Whether any of the lists is there; the reader says which others are not."""
    return any((place / name).is_file() for place in _places(folder) for name in LISTS[1:])


def clothing1m(folder: Path, reading: Reading) -> DataSet:
    """Noisily labelled training examples, clean validation and test parts; pictures [3, 224, 224], streamed.

    Clean labels of the training examples are given only if all are known; in the published lists none is.
    """
    lists = _Lists(next((place for place in _places(folder) if (place / TRAIN_KEYS).is_file()), folder))
    names = tuple(line for _, line in lists.lines(CATEGORIES))
    noisy, clean = lists.labels(NOISY_LABELS, len(names)), lists.labels(CLEAN_LABELS, len(names))
    side = SIDE if reading.resize is None else reading.resize
    cut = Cut(side, side, round(side * MARGIN))
    bad = BadPictures()

    def part(keys: str, labels: str, of: Mapping[str, int]) -> Examples:
        nonlocal bad
        given = lists.labelled_keys(keys, labels, of)
        paths = Paths(given)
        check = _require_decodable if reading.skip_bad_images else require_file
        kept, left_out = good_pictures(folder, paths, check, skip=reading.skip_bad_images)
        bad += left_out
        if left_out.complaints and keys == TRAIN_KEYS:
            require_good_of_each(names, np.array(list(given.values()))[kept], "clothing1m")
        paths = paths if len(kept) == len(paths) else paths.take(kept)
        known = keys == TRAIN_KEYS and all(key in clean for key in given)
        clean_labels = np.array([clean[key] for key in given])[kept] if known else None
        return make_examples(
            PictureFiles(folder, paths, cut),
            np.array(list(given.values()))[kept],
            class_names=names,
            clean_labels=clean_labels,
            source=str(lists.folder / keys),
            may_lack_classes=keys != TRAIN_KEYS,
            names=paths,
        )

    train = part(TRAIN_KEYS, NOISY_LABELS, noisy)
    validation, test = (part(keys, CLEAN_LABELS, clean) for keys in (VALIDATION_KEYS, TEST_KEYS))
    notes = bad.notes("clothing1m")
    return DataSet(
        "clothing1m",
        train,
        test,
        defaults=DEFAULTS,
        notes=notes,
        validation=validation,
        resize=cut.resize,
    )


def _require_decodable(row: int, path: bytes) -> None:
    check_picture(path)


def _places(folder: Path) -> tuple[Path, Path]:
    return folder, folder / "annotations"


@dataclass(frozen=True)
class _Lists:
    """The folder of the text lists."""

    folder: Path

    def lines(self, name: str) -> Iterator[tuple[int, str]]:
        """Numbered lines that are not blank, without the space around them."""
        path = self.folder / name
        try:
            with io.TextIOWrapper(open_regular(path), encoding="utf-8") as file:
                for position, line in enumerate(file, 1):
                    if text := line.strip():
                        yield position, text
        except FileNotFoundError:
            raise InputError(
                f"{path}: this file of Clothing1M is missing; unpack it beside the other lists."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read as text ({error}); unpack it again.") from None

    def labels(self, name: str, classes: int) -> dict[str, int]:
        """Key → number of its category."""
        labels: dict[str, int] = {}
        for line, text in self.lines(name):
            key, _, label = text.rpartition(" ")
            if not key or not label.isascii() or not label.isdigit():
                raise InputError(
                    f"{self.folder / name}: line {line} is not a path and a number; unpack it again."
                )
            if int(label) >= classes:
                raise InputError(
                    f"{self.folder / name}: line {line} has category {label}, but {CATEGORIES} names "
                    f"{classes}, counted from 0; unpack both files again."
                )
            labels[key.rstrip()] = int(label)
        return labels

    def labelled_keys(self, keys: str, name: str, labels: Mapping[str, int]) -> dict[str, int]:
        """The keys of a list in its order, each once, with their labels."""
        found: dict[str, int] = {}
        for line, key in self.lines(keys):
            if key not in labels:
                raise InputError(
                    f"{self.folder / keys}: {key} in line {line} has no label in {name}; "
                    "unpack both files again or remove the line."
                )
            found[key] = labels[key]
        if not found:
            raise InputError(f"{self.folder / keys}: this list is empty; unpack it again.")
        return found
