"""Pictures that nobody has put into class folders: any below a folder, or one file, for a run to judge."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.lazy import Inputs
from noiselimit.data.pictures import (
    MARGIN,
    BadPictures,
    Cut,
    Paths,
    PictureFiles,
    check_picture,
    good_pictures,
    read_header,
    require_good_of_each,
)
from noiselimit.data.reading import PICTURES, Reading
from noiselimit.errors import InputError

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff")
TRAIN = "train"
TEST_NAMES = ("test", "val", "validation")
"""The first of these that is there is the test part, the next one the validation part."""


@dataclass(frozen=True, eq=False)
class Listing:
    """The pictures of one part: their names below the data's folder, and the number of each one's class."""

    paths: Paths
    labels: npt.NDArray[np.int64]  # [n]


@dataclass(frozen=True, eq=False)
class Listings:
    """All parts, and the classes of the training part, sorted by name."""

    class_names: tuple[str, ...]
    train: Listing
    test: Listing | None = None
    validation: Listing | None = None


def list_class_folders(folder: Path) -> Listings | None:
    """Class folders in the folder, or in its sub-folders train, test and val; None where there are none.

    A class folder is one with a picture in it or in its own sub-folders; hidden ones do not count.
    """
    found = tuple(_class_folders(folder))
    if not found:
        return None
    if set(found) <= set(TEST_NAMES):  # nobody has classes of these names alone
        raise InputError(
            f"{folder}: there is {' and '.join(found)} but no {TRAIN}; put pictures to train on there."
        )
    root = TRAIN if _is_divided(folder, found) else ""
    names = tuple(_class_folders(folder / root))
    for name in names:
        if not name.isprintable():  # half a surrogate pair, from a name that is not UTF-8, is not either
            raise InputError(f"{folder / root}: the class folder {name!r} is not named in text; rename it.")
    train = _list(folder, root, names)
    if not root:
        return Listings(names, train)
    parts = [name for name in TEST_NAMES if name in found]
    test = _list(folder, parts[0], names) if parts else None
    validation = _list(folder, parts[1], names) if len(parts) > 1 else None
    return Listings(names, train, test, validation)


def list_pictures(folder: Path, *, test: bool = False) -> Paths | None:
    """All pictures below the folder, sorted; where there is a folder train of class folders, those there.

    With `test`, those in the test part, None where there is none; no other part is looked at.
    """
    found = tuple(_class_folders(folder))
    part = ""
    if test:
        part = next((name for name in TEST_NAMES if name in found), "")
        if not part:
            return None
    elif {TRAIN} < set(found) <= {TRAIN, *TEST_NAMES} and has_class_folders(folder / TRAIN):
        part = TRAIN
    return Paths(sorted(os.path.relpath(path, folder) for path in _pictures(folder / part)))


def has_class_folders(folder: Path) -> bool:
    """Whether there are pictures in folders of the folder."""
    return next(_class_folders(folder), None) is not None


def _is_divided(folder: Path, found: Collection[str]) -> bool:
    """Whether these folders of pictures are parts, each with class folders; a class may be named train."""
    if TRAIN not in found:
        return False
    others = set(found) - {TRAIN, *TEST_NAMES}
    divided = has_class_folders(folder / TRAIN)
    if divided and others:
        raise InputError(
            f"{folder}: {TRAIN} has class folders of its own, but beside it is {min(others)}; "
            f"leave only {', '.join((TRAIN, *TEST_NAMES))} there."
        )
    if not divided and not others and len(found) > 1:
        raise InputError(f"{folder / TRAIN}: its pictures are in no class folders; make one for each class.")
    return divided


def _class_folders(folder: Path) -> Iterator[str]:
    """Names of the folders with pictures, sorted."""
    for entry in sorted(folder.iterdir()):
        if not entry.name.startswith(".") and entry.is_dir() and next(_pictures(entry), None) is not None:
            yield entry.name


def _list(folder: Path, part: str, class_names: tuple[str, ...]) -> Listing:
    paths: list[str] = []
    labels: list[int] = []
    for name in _class_folders(folder / part):
        if name not in class_names:
            raise InputError(
                f"{folder / part / name}: the training part has no class '{name}'; "
                "add pictures of it there, or remove this folder."
            )
        found = sorted(os.path.relpath(path, folder) for path in _pictures(folder / part / name))
        paths += found
        labels += [class_names.index(name)] * len(found)
    return Listing(Paths(paths), np.array(labels, np.int64))


def _pictures(folder: Path) -> Iterator[str]:
    """Picture files in the folder and below it, in no order."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and name.lower().endswith(ENDINGS):
                yield os.path.join(place, name)


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


def read_new_pictures(
    place: Path, shape: tuple[int, ...], resize: int | None, reading: Reading, *, test: bool = False
) -> tuple[Inputs, Paths, tuple[str, ...]]:
    """(inputs [n, *shape], their names, notes): of one file, or of all pictures below a folder, by name.

    They are cut as those of the run's training were: their shorter side is scaled to `resize` if it was then.
    """
    reading.require_only(PICTURES, str(place))
    _require_pictures(place, shape, reading)
    folder, paths = _listed(place, test)
    measured = measure(folder, Listing(paths, np.zeros(len(paths), np.int64)), skip=reading.skip_bad_images)
    cut, notes = _cut_like(place, shape, resize or reading.resize, measured)
    files = PictureFiles(folder, measured.paths, cut)
    inputs, kept, damaged = decode(
        files, streamed=must_be_streamed(len(files), cut), skip=reading.skip_bad_images
    )
    bad = measured.bad + damaged
    return inputs, measured.paths.take(kept.tolist()), (*bad.notes(str(place)), *notes)


def _require_pictures(place: Path, shape: tuple[int, ...], reading: Reading) -> None:
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise InputError(
            f"{place}: the run was trained on inputs of shape {list(shape)}, which picture files do not "
            "give; give inputs as in its training."
        )
    if reading.resize is not None and (reading.resize,) * 2 != shape[1:]:
        raise InputError(
            f"--resize is {reading.resize}, but the run was trained on pictures of {shape[2]} × {shape[1]} "
            "pixels; leave it out, since new ones are brought to that size anyway."
        )


def _listed(place: Path, test: bool) -> tuple[Path, Paths]:
    if place.is_file():
        if test:
            raise InputError(f"{place}: a picture has no test part; leave out --test.")
        return place.parent, Paths([place.name])
    paths = list_pictures(place, test=test)
    if paths is None:
        raise InputError(f"{place}: there is no test part; leave out --test.")
    if not len(paths):
        raise InputError(
            f"{place}: there is no picture in it ({', '.join(ENDINGS)}); name a folder that has some."
        )
    return place, paths


def _cut_like(
    place: Path, shape: tuple[int, ...], resize: int | None, measured: Measured
) -> tuple[Cut, tuple[str, ...]]:
    """(the cut, notes); pictures of another size than a run has that scaled none are scaled with a note."""
    channels, height, width = shape
    if resize is not None:
        return Cut(height, width, resize, channels), ()
    others = (measured.sizes != (width, height)).any(1)
    if not others.any():
        return Cut(height, width, None, channels), ()
    if height != width:
        raise InputError(
            f"{place}: {measured.paths[int(np.argmax(others))]} does not have the {width} × {height} pixels "
            "that the run was trained on; bring it to that size."
        )
    return Cut(height, width, height, channels), (
        f"{place}: {others.sum()} of {len(others)} pictures do not have the {width} × {height} pixels that "
        "the run was trained on; they were scaled by their shorter side, and the middle was taken.",
    )
