"""Pictures in tar files, as WebDataset writes them: KEY.jpg with KEY.cls or KEY.json.

The files are read in place: nothing is extracted, and members that are no regular files are passed over.
"""

import json
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.arrays import Labels, LazyInputs, View
from noiselimit.data.examples import DataSet, take_examples
from noiselimit.data.image_folder import ENDINGS, Part, choose_cut, has_class_folders, suit_features
from noiselimit.data.pictures import Cut, Picture, PictureCheck, check_picture, read_header, read_picture
from noiselimit.data.reading import Reading, readable
from noiselimit.data.table_file import frame_data_set
from noiselimit.errors import InputError

LABELS = (".cls", ".json")
LABEL_NAMES = ("label", "cls", "class")
"""What the label is called in a .json member: the first of these that is there."""
LARGEST_LABEL = 2**20
DAMAGED = "write this file again or remove it"


class Member(BytesIO):
    """The bytes of a picture; messages call it by its name."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self._called = name

    def __str__(self) -> str:
        return self._called


class TarPictures(LazyInputs):
    """Members of tar files as inputs [n, channels, height, width]."""

    def __init__(self, folder: Path, names: Sequence[str], places: npt.NDArray[np.int64], cut: Cut) -> None:
        """`names` [n] are FILE.tar/MEMBER, `places` [n, 2] are where their bytes start, and how many."""
        self.folder, self.names, self.places, self.cut = folder, names, places, cut

    @property
    def shape(self) -> tuple[int, ...]:
        """[n, channels, height, width]."""
        return (len(self.names), self.cut.channels, self.cut.height, self.cut.width)

    @cached_property
    def digest(self) -> bytes:
        """Digest of names, places and the cut."""
        text = json.dumps([list(self.names), self.places.tolist(), self.shape, self.cut.resize])
        return blake2b(text.encode()).digest()

    def member(self, row: int) -> Member:
        """The bytes of one picture."""
        name, (start, size) = self.names[row], self.places[row].tolist()
        path = self.folder / _tar_of(name)
        with readable(path, DAMAGED), path.open("rb") as file:
            file.seek(start)
            return Member(file.read(size), f"{self.folder}/{name}")

    def read(self, row: int, view: View = View()) -> Picture:  # noqa: B008 - frozen
        """One picture, [channels, height, width]."""
        return read_picture(self.member(row), self.cut, view)

    def content(self, row: int) -> bytes:
        """The bytes of the member, and how the picture is cropped."""
        return repr(self.cut).encode() + self.member(row).getvalue()

    def take(self, rows: Sequence[int] | Labels) -> "TarPictures":
        """Only these pictures, in this order."""
        return TarPictures(self.folder, [self.names[row] for row in rows], self.places[list(rows)], self.cut)


def _tar_of(name: str) -> str:
    return f"{name.partition('.tar/')[0]}.tar"


def has_tars(folder: Path) -> bool:
    """Whether it holds tar files, and no class folders of pictures beside them."""
    return bool(_find_tars(folder)) and not has_class_folders(folder)


def _find_tars(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.tar") if path.is_file() and path.name[0] not in "._")


def read_tar_folder(folder: Path, reading: Reading) -> DataSet:
    """The pictures in the tar files of a folder, decoded when they are needed."""
    names: list[str] = []
    labels: list[Any] = []
    places: list[tuple[int, int]] = []
    for path in _find_tars(folder):
        with readable(path, DAMAGED):
            for name, place, label in _list_tar(path):
                names.append(f"{path.name}/{name}")
                labels.append(label)
                places.append(place)
    if not names:
        raise InputError(f"{folder}: there are no images ({', '.join(ENDINGS)}) in its tar files; add some.")
    if all(label is None or str(label).isdecimal() for label in labels):
        labels = [None if label is None else int(label) for label in labels]
    found = TarPictures(folder, names, np.array(places, np.int64), Cut(1, 1))
    data = frame_data_set(
        found,
        pd.Series(labels, name="label", dtype=object),
        name=folder.resolve().name,
        source=str(folder),
        keep_unlabelled=reading.keep_unlabelled,
        pictures=found,
    )
    check, headers = (
        PictureCheck(str(folder), skip=reading.skip_bad_images),
        np.zeros((len(names), 3), np.int64),
    )

    def look(row: int, path: str) -> None:
        headers[row] = read_header(found.member(row))
        if reading.skip_bad_images:
            check_picture(found.member(row))

    rows = check.good_rows(folder, names, look)
    sizes, grey = headers[rows, :2], headers[rows, 2] == 1
    parts = [Part([names[row] for row in rows], rows, sizes, grey)]
    side = reading.features_side if suit_features(parts, reading) else None
    found.cut = choose_cut(folder, parts, reading.resize or side)
    examples = take_examples(replace(data.examples, names=names), rows)
    return replace(
        data, examples=examples, notes=(*data.notes, *check.notes(len(names))), resize=found.cut.resize
    )


def _list_tar(path: Path) -> list[tuple[str, tuple[int, int], Any]]:
    """(name, place of its bytes, label or None) of each picture."""
    pictures: dict[str, tuple[str, tuple[int, int]]] = {}
    labels: dict[str, Any] = {}
    with tarfile.open(path, "r:") as file:
        for member in file:
            folder, _, last = member.name.rpartition("/")
            key, ending = f"{folder}/{last.partition('.')[0]}", f".{last.lower().rpartition('.')[2]}"
            if not member.isreg() or member.issparse() or last.startswith("."):
                continue
            if ending in ENDINGS:
                if not member.name.isprintable():
                    raise ValueError(f"the name {member.name!r} is not plain text")
                pictures[key] = member.name, (member.offset_data, member.size)
            elif ending in LABELS and member.size <= LARGEST_LABEL:
                content = file.extractfile(member)
                assert content is not None
                labels[key] = _label(content.read().decode(), ending)
    return [(*found, labels.get(key)) for key, found in pictures.items()]


def _label(text: str, ending: str) -> Any:
    """The label in a member; None if it is empty."""
    if ending == ".cls":
        return text.strip() or None
    value = json.loads(text)
    found = (
        next((value[name] for name in LABEL_NAMES if name in value), None)
        if isinstance(value, dict)
        else value
    )
    if found is not None and type(found) not in (str, int):
        raise ValueError(f"the label {str(found)[:50]!r} is neither a name nor a whole number")
    return found if isinstance(found, int) else (found or "").strip() or None
