"""Picture files: class folders and lists to train on, and unlabelled pictures to predict for."""

import mimetypes
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Inputs, Labels, first
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.pictures import MARGIN, Cut, PictureCheck, PictureFiles, check_picture, read_header
from noiselimit.data.reading import PICTURES, Reading
from noiselimit.errors import InputError

ENDINGS = (".jpg", ".jpeg", ".jfif", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff")
TRAIN = "train"
TEST_NAMES = ("test", "val", "validation")
"""The first of these that is there is the test part, the next one the validation part."""
SMALLEST_FOR_FEATURES = 32
"""Pictures with a smaller side show too little for a network that was trained on photographs."""
STREAM_ABOVE = 2 * 2**30
"""Decoded pictures of more bytes than this are streamed from their files."""


@dataclass(frozen=True, eq=False)
class Part:
    """The pictures of one part whose headers could be read."""

    paths: Sequence[str]
    """[n], below the data's folder."""
    rows: Labels
    """[n]: their places among all pictures of the part."""
    sizes: npt.NDArray[np.int64]
    """[n, 2]: width and height."""
    grey: npt.NDArray[np.bool_]
    """[n]"""


def has_class_folders(folder: Path) -> bool:
    """Whether there are pictures in sub-folders of the folder."""
    return next(_class_folders(folder), None) is not None


def read_image_folder(folder: Path, reading: Reading) -> DataSet:
    """Pictures in class folders, in memory if they fit, else streamed from their files.

    The class folders are in `folder`, or in its sub-folders train, test and val. A class folder has a picture
    in it or in its own sub-folders. Hidden folders do not count.
    """
    class_names, listed = _list_parts(folder)
    read, resize, notes = read_pictures(folder, folder, [paths for paths, _ in listed.values()], reading)
    notes += _unread_notes(folder)
    examples: dict[str, Examples] = {}
    for (name, (paths, labels)), (inputs, rows) in zip(listed.items(), read, strict=True):
        examples[name] = make_examples(
            inputs,
            labels[rows],
            class_names=class_names,
            source=str(folder),
            may_lack_classes=name != TRAIN,
            names=[paths[row] for row in rows],
        )
    if "validation" in examples:
        pictures = f"the {len(examples['validation'])} validation images choose the epoch"
        usual = "by default a share of the training images does"
        notes += (f"{folder}: {pictures} only with --validation-labels clean; {usual}.",)
    return DataSet(
        folder.resolve().name,
        examples[TRAIN],
        examples.get("test"),
        validation=examples.get("validation"),
        notes=notes,
        resize=resize,
    )


def read_pictures(
    source: Path, folder: Path, listed: Sequence[Sequence[str]], reading: Reading
) -> tuple[list[tuple[Inputs, Labels]], int | None, tuple[str, ...]]:
    """The pictures of all parts, whose paths below the folder are `listed`, in one shape.

    Returns (inputs and their places in the list, for each part), the side to which the pictures were scaled
    before they were cropped, and notes. Messages name the `source`.
    """
    check = PictureCheck(str(source), skip=reading.skip_bad_images)
    parts = [_measure(folder, paths, check) for paths in listed]
    for_features = suit_features(parts, reading)
    side = reading.features_side if for_features else None
    cut = choose_cut(source, parts, reading.resize or side)
    streamed = for_features or _too_large(sum(len(part.paths) for part in parts), cut)
    if streamed and cut.resize and not for_features:
        # Room for random crops; in memory, a black border serves for that.
        cut = replace(cut, resize=round(cut.resize * MARGIN))
    read = []
    for part in parts:
        inputs, rows = _load(PictureFiles(folder, part.paths, cut), streamed, check)
        read.append((inputs, part.rows[rows]))
    return read, cut.resize, check.notes(sum(map(len, listed)))


def read_new_pictures(
    place: Path,
    shape: tuple[int, ...],
    resize: int | None,
    reading: Reading,
    *,
    test: bool = False,
    listed: Sequence[str] | None = None,
) -> tuple[Inputs, Sequence[str], tuple[str, ...]]:
    """(inputs [n, *shape], names, notes) of one file, or of all pictures below a folder, sorted by name.

    They are cropped as in the run's training: `resize` is the side to which pictures were scaled there. If
    the place is a list of pictures, `listed` are their paths.
    """
    reading.require_only(PICTURES, str(place))
    _require_picture_shape(place, shape, reading)
    if test and place.is_file():
        raise InputError(f"{place}: this file has no test part; leave out --test.")
    folder, paths = _list_new(place, test) if listed is None else (place.parent, listed)
    check = PictureCheck(str(place), skip=reading.skip_bad_images)
    part = _measure(folder, paths, check)
    cut, notes = _cut_like(place, shape, resize or reading.resize, part)
    inputs, rows = _load(PictureFiles(folder, part.paths, cut), _too_large(len(part.paths), cut), check)
    unread = _unread_notes(place) if place.is_dir() else ()
    return inputs, [part.paths[row] for row in rows], (*check.notes(len(paths)), *notes, *unread)


# Listing


def _list_parts(folder: Path) -> tuple[tuple[str, ...], dict[str, tuple[list[str], Labels]]]:
    """The sorted class names, and (paths, labels) of the parts train, test and validation that are there."""
    found = list(_class_folders(folder))
    if not found:
        raise InputError(
            f"{folder}: there are neither idx files as in MNIST, nor .parquet or .tar files, nor class "
            f"folders of images ({', '.join(ENDINGS)}); name a folder with one sub-folder per class."
        )
    if set(found) <= set(TEST_NAMES):
        raise InputError(f"{folder}: there is {' and '.join(found)} but no {TRAIN}; add training images.")
    if TRAIN not in found or not has_class_folders(folder / TRAIN):  # a class may be called train
        if {TRAIN} < set(found) <= {TRAIN, *TEST_NAMES}:
            raise InputError(f"{folder / TRAIN}: its images are not in class folders; make one per class.")
        return tuple(found), {TRAIN: _list_part(folder, "", found)}
    if others := set(found) - {TRAIN, *TEST_NAMES}:
        raise InputError(f"{folder}: there is {min(others)} beside {TRAIN}; leave only train, test and val.")
    class_names = list(_class_folders(folder / TRAIN))
    places = [TRAIN, *(name for name in TEST_NAMES if name in found)]
    parts = dict(zip((TRAIN, "test", "validation"), places, strict=False))
    return tuple(class_names), {name: _list_part(folder, place, class_names) for name, place in parts.items()}


def _list_part(folder: Path, part: str, class_names: Sequence[str]) -> tuple[list[str], Labels]:
    paths: list[str] = []
    labels: list[int] = []
    for name in _class_folders(folder / part):
        if name not in class_names:
            raise InputError(f"{folder / part / name}: the training part has no class '{name}'; remove it.")
        found = _sorted_pictures(folder, folder / part / name)
        paths += found
        labels += [class_names.index(name)] * len(found)
    return paths, np.array(labels, np.int64)


def _list_new(place: Path, test: bool) -> tuple[Path, list[str]]:
    """The folder, and paths of the pictures to predict for: of the test part, of train, or of everything."""
    if place.is_file():
        return place.parent, [place.name]
    found = list(_class_folders(place))
    part = ""
    if test:
        part = next((name for name in TEST_NAMES if name in found), "")
        if not part:
            raise InputError(f"{place}: there is no test part; leave out --test.")
    elif {TRAIN} < set(found) <= {TRAIN, *TEST_NAMES} and has_class_folders(place / TRAIN):
        part = TRAIN
    paths = _sorted_pictures(place, place / part)
    if not paths:
        raise InputError(f"{place}: there are no images ({', '.join(ENDINGS)}); name another folder.")
    return place, paths


def _class_folders(folder: Path) -> Iterator[str]:
    """Names of the sub-folders with pictures, sorted."""
    for entry in sorted(folder.iterdir()):
        if not entry.name.startswith(".") and entry.is_dir() and next(_pictures(entry), None) is not None:
            yield entry.name


def _sorted_pictures(folder: Path, below: Path) -> list[str]:
    """Paths relative to `folder` of the pictures in `below`."""
    paths = sorted(os.path.relpath(path, folder) for path in _pictures(below))
    for path in paths:
        if not path.isprintable():
            raise InputError(f"{folder}: the name {path!r} is not plain text; rename it.")
    return paths


def _pictures(folder: Path) -> Iterator[str]:
    """Picture files in the folder and below it, in no order."""
    return (path for path in _files(folder) if path.lower().endswith(ENDINGS))


def _files(folder: Path) -> Iterator[str]:
    """Files in the folder and below it, without hidden ones."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(place, name) for name in files if not name.startswith("."))


def _unread_notes(folder: Path) -> tuple[str, ...]:
    """A note on pictures of formats that are not read, such as those of many telephones."""
    others = (path for path in _files(folder) if not path.lower().endswith(ENDINGS))
    unread = [path for path in others if (mimetypes.guess_type(path)[0] or "").startswith("image/")]
    if not unread:
        return ()
    formats = ", ".join(sorted({Path(path).suffix.lower() for path in unread}))
    left_out = f"left out {len(unread)} images of other formats ({formats})"
    return (f"{folder}: {left_out}; convert them to JPEG or PNG.",)


# Measuring and decoding


def _measure(folder: Path, paths: Sequence[str], check: PictureCheck) -> Part:
    """Size and colour of the pictures, from their headers."""
    headers = np.zeros((len(paths), 3), np.int64)

    def look(row: int, path: str) -> None:
        headers[row] = read_header(path)

    rows = check.good_rows(folder, paths, look)
    found = headers[rows]
    return Part([paths[row] for row in rows], rows, found[:, :2], found[:, 2] == 1)


def suit_features(parts: Sequence[Part], reading: Reading) -> bool:
    """Whether to read the pictures for frozen features: in colour, and most of them not tiny."""
    if reading.features_side is None or all(part.grey.all() for part in parts):
        return False
    sides = np.concatenate([part.sizes.min(1) for part in parts])
    return (reading.resize or float(np.median(sides))) >= SMALLEST_FOR_FEATURES


def choose_cut(source: Path, parts: Sequence[Part], resize: int | None) -> Cut:
    """One shape for all parts: the common size of all pictures, or the square of --resize."""
    channels = 1 if all(part.grey.all() for part in parts) else 3
    if resize is not None:
        return Cut(resize, resize, resize, channels)
    width, height = parts[0].sizes[0].tolist()
    for part in parts:
        row = first((part.sizes != (width, height)).any(1))
        if row is not None:
            one = f"{parts[0].paths[0]} has {width} × {height} pixels"
            other = f"{part.paths[row]} has {' × '.join(map(str, part.sizes[row]))}"
            features = ", or use --features efficientnet-lite0" if channels == 3 else ""
            raise InputError(f"{source}: {one} but {other}; resize all, as with --resize 64{features}.")
    return Cut(height, width, None, channels)


def _too_large(count: int, cut: Cut) -> bool:
    """Whether so many pictures are too large for memory when decoded."""
    return count * cut.channels * cut.height * cut.width > STREAM_ABOVE


def _load(files: PictureFiles, streamed: bool, check: PictureCheck) -> tuple[Inputs, Labels]:
    """The pictures that can be decoded, and which rows of `files` these are."""
    if streamed and not check.skip:  # decoding all of them once takes long: only to skip damaged ones
        return files, np.arange(len(files))
    if streamed:
        rows = check.good_rows(files.folder, files.paths, lambda row, path: check_picture(path))
        return files.take(rows.tolist()), rows
    pictures = np.empty(files.shape, np.uint8)

    def decode(row: int, path: str) -> None:
        pictures[row] = files.read(row)

    rows = check.good_rows(files.folder, files.paths, decode)
    return pictures if len(rows) == len(files) else pictures[rows], rows


# Pictures for a run that is already trained


def _require_picture_shape(place: Path, shape: tuple[int, ...], reading: Reading) -> None:
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise InputError(f"{place}: the run takes inputs of shape {list(shape)}, not images; give those.")
    if reading.resize is not None and (reading.resize,) * 2 != shape[1:]:
        size = f"{shape[2]} × {shape[1]} pixels"
        raise InputError(f"--resize is {reading.resize}, but the run takes {size}; leave out the option.")


def _cut_like(
    place: Path, shape: tuple[int, ...], resize: int | None, part: Part
) -> tuple[Cut, tuple[str, ...]]:
    """(cut, notes). If the run scaled no pictures, those of another size are scaled, with a note."""
    channels, height, width = shape
    if resize is not None:
        return Cut(height, width, resize, channels), ()
    others = (part.sizes != (width, height)).any(1)
    if not others.any():
        return Cut(height, width, None, channels), ()
    if height != width:
        name = part.paths[int(np.argmax(others))]
        raise InputError(f"{place}: the run takes {width} × {height} pixels, unlike {name}; resize it.")
    return Cut(height, width, height, channels), (
        f"{place}: {others.sum()} of {len(others)} images do not have {width} × {height} pixels, on which "
        "the run was trained; their shorter side was scaled and the centre taken.",
    )
