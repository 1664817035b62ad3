"""A folder of class folders of pictures: the name of the folder that a picture lies in is its label."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from noiselimit.data.bad_pictures import BadPictures, good_pictures, require_good_of_each
from noiselimit.data.class_folders import ENDINGS, Listing, list_class_folders
from noiselimit.data.decoding import MARGIN, Cut, check_picture, read_header
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.lazy import Inputs
from noiselimit.data.paths import Paths
from noiselimit.data.pictures import PictureFiles
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError

STREAM_ABOVE = 2 * 2**30
"""Bytes of decoded pictures that are still held in memory."""


def read_image_folder(folder: Path, reading: Reading) -> DataSet:
    """Pictures in class folders, in memory where they fit there, else to be streamed from their files."""
    listings = list_class_folders(folder)
    if listings is None:
        raise InputError(
            f"{folder}: there are neither idx files as MNIST has them nor class folders of pictures "
            f"({', '.join(ENDINGS)}); name a folder that has one folder for each class."
        )
    listed = {"train": listings.train, "test": listings.test, "validation": listings.validation}
    measured = {
        name: measure(folder, part, skip=reading.skip_bad_images) for name, part in listed.items() if part
    }
    cut = _choose_cut(folder, list(measured.values()), reading.resize)
    count = sum(len(part.paths) for part in measured.values())
    streamed = must_be_streamed(count, cut)
    if streamed and cut.resize:  # room for the window to move; in memory, black pixels around it serve
        cut = replace(cut, resize=round(cut.resize * MARGIN))
    bad = BadPictures()
    examples: dict[str, Examples] = {}
    for name, part in measured.items():
        files = PictureFiles(folder, part.paths, cut)
        inputs, kept, damaged = decode(files, streamed=streamed, skip=reading.skip_bad_images)
        bad += part.bad + damaged
        if name == "train":
            require_good_of_each(listings.class_names, part.labels[kept], str(folder))
        examples[name] = make_examples(
            inputs,
            part.labels[kept],
            class_names=listings.class_names,
            source=str(folder),
            may_lack_classes=name != "train",
            names=part.paths.take(kept),
        )
    return DataSet(
        folder.resolve().name,
        examples["train"],
        examples.get("test"),
        validation=examples.get("validation"),
        notes=(*bad.notes(str(folder)), *_unused(folder, examples)),
        resize=cut.resize,
    )


def must_be_streamed(count: int, cut: Cut) -> bool:
    """Whether so many pictures are too large for memory when decoded."""
    return count * cut.channels * cut.height * cut.width > STREAM_ABOVE


def _unused(folder: Path, examples: Mapping[str, Examples]) -> tuple[str, ...]:
    if "validation" not in examples:
        return ()
    return (
        f"{folder}: the {len(examples['validation'])} pictures for validation choose the epoch only with "
        "--validation-labels clean; by default a share of the training pictures does.",
    )


@dataclass(frozen=True, eq=False)
class Measured:
    """The pictures of a part whose headers could be read."""

    paths: Paths
    labels: npt.NDArray[np.int64]  # [n]
    sizes: npt.NDArray[np.int64]  # [n, 2]: width and height
    grey: npt.NDArray[np.bool_]  # [n]
    bad: BadPictures


def measure(folder: Path, part: Listing, *, skip: bool) -> Measured:
    """Size and colour of the pictures, from their headers; bad ones are an error or, to `skip`, left out."""
    sizes = np.zeros((len(part.paths), 2), np.int64)
    grey = np.zeros(len(part.paths), np.bool_)

    def look(row: int, path: bytes) -> None:
        header = read_header(path)
        sizes[row], grey[row] = (header.width, header.height), header.grey

    kept, bad = good_pictures(folder, part.paths, look, skip=skip)
    return Measured(part.paths.take(kept), part.labels[kept], sizes[kept], grey[kept], bad)


def _choose_cut(folder: Path, parts: Iterable[Measured], resize: int | None) -> Cut:
    """One shape for all parts: that of every picture, or the square that was asked for."""
    channels = 1 if all(part.grey.all() for part in parts) else 3
    if resize is not None:
        return Cut(resize, resize, resize, channels)
    first = next(iter(parts))
    width, height = first.sizes[0].tolist()
    for part in parts:
        other = (part.sizes != first.sizes[0]).any(1)
        if other.any():
            row = int(np.argmax(other))
            raise InputError(
                f"{folder}: {first.paths[0]} has {width} × {height} pixels but {part.paths[row]} "
                f"{' × '.join(map(str, part.sizes[row]))}; "
                "bring all to one size, for instance with --resize 64."
            )
    return Cut(height, width, None, channels)


def decode(
    files: PictureFiles, *, streamed: bool, skip: bool
) -> tuple[Inputs, npt.NDArray[np.int64], BadPictures]:
    """The pictures that can be decoded, which rows of `files` these are, and the complaints of the others."""
    if not streamed:
        pictures = np.empty(files.shape, np.uint8)

        def put(row: int, path: bytes) -> None:
            pictures[row] = files.read(row)

        kept, bad = good_pictures(files.folder, files.paths, put, skip=skip)
        return pictures if len(kept) == len(files) else pictures[kept], kept, BadPictures(bad.complaints)
    if not skip:  # so many are decoded beforehand only for those who ask for it
        return files, np.arange(len(files)), BadPictures()
    kept, bad = good_pictures(files.folder, files.paths, lambda row, path: check_picture(path), skip=True)
    return files.take(kept.tolist()), kept, BadPictures(bad.complaints)
