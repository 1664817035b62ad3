"""Picture files: decoding and cropping one, many as lazy inputs, and what to do with damaged ones."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from noiselimit.data.arrays import PADDING, Labels, LazyInputs, View
from noiselimit.data.reading import readable
from noiselimit.errors import InputError
from noiselimit.machine import available_cores

FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF")  # not all of Pillow's: one of them starts a program
ORIENTATION = 0x0112  # EXIF tag; from 5 on, height and width change places
WIDE_GREY = ("I", "I;16", "I;16B", "I;16L", "I;16N")  # 16 bits a pixel, which Pillow would clip at 255
TRANSPARENT = ("LA", "La", "PA", "RGBA", "RGBa")
GREY = ("1", "L", "LA", "La", *WIDE_GREY)
MARGIN = 8 / 7  # shorter side of a scaled picture : side of its crop, as 256 : 224
MOST_THREADS = 8
PIECE = 256  # pictures that a thread handles at a time
MOST_NAMED = 20  # damaged pictures that a note names

Picture = npt.NDArray[np.uint8]
Place = str | Path | BytesIO
"""A file, or its bytes."""


@dataclass(frozen=True)
class Cut:
    """How a picture of any size becomes one of the size that the network takes."""

    height: int
    width: int
    resize: int | None = None
    """Scale the shorter side to this before cropping; None: do not scale."""
    channels: int = 3
    """3: red, green, blue; 1: grey."""

    def __post_init__(self) -> None:
        if self.resize is not None and self.resize < max(self.height, self.width):
            raise ValueError(f"a window {self.height} × {self.width} is larger than the side {self.resize}")

    def box(self, size: tuple[int, int], view: View) -> tuple[float, float, float, float]:
        """The crop (left, upper, right, lower) in pixels of the unscaled picture of (width, height)."""
        scale = min(size) / self.resize if self.resize else 1.0

        def interval(length: int, window: int, where: float) -> tuple[float, float]:
            room = max(round(length / scale) - window, 0)
            start = int(where * (room + 1)) * scale
            stop = start + window * scale
            return max(start - max(stop - length, 0.0), 0.0), min(stop, length)  # `room` may be rounded up

        left, right = interval(size[0], self.width, view.across)
        upper, lower = interval(size[1], self.height, view.down)
        return left, upper, right, lower


def read_picture(path: Place, cut: Cut, view: View = View()) -> Picture:  # noqa: B008 - frozen
    """The crop of the first frame, [channels, height, width]."""
    with _opened(path) as image:
        if cut.resize:
            # Decodes a JPEG at a half, a quarter or an eighth where that is still twice too large.
            image.draft(None, (2 * cut.resize, 2 * cut.resize))
        plain = _plain(image, "RGB" if cut.channels == 3 else "L")
        if cut.resize:
            box = cut.box(plain.size, view)
            plain = plain.resize((cut.width, cut.height), Image.Resampling.BILINEAR, box)
        elif plain.size != (cut.width, cut.height):
            sizes = f"{plain.width} × {plain.height} pixels, others {cut.width} × {cut.height}"
            raise InputError(f"{path}: this image has {sizes}; resize all of them with --resize.")
        pixels: Picture = np.asarray(plain)
    if not cut.resize:
        pixels = _shifted(pixels, view)
    if view.flip:
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels[np.newaxis] if pixels.ndim == 2 else pixels.transpose(2, 0, 1))


def read_whole(path: Place, side: int) -> Image.Image:
    """The whole first frame in colours, scaled down to at most `side` pixels in height and width."""
    with _opened(path) as image:
        image.draft(None, (side, side))
        plain = _plain(image, "RGB")
        plain.thumbnail((side, side))
        return plain


def is_picture_list(value: Any) -> bool:
    """Whether it is a list of PIL pictures."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, Image.Image) for each in value)


def stack_pictures(images: Sequence[Image.Image], side: int) -> Picture:
    """The middle squares of pictures in memory, of any sizes, scaled to [n, 3, side, side]."""
    cut, view = Cut(side, side, side), View()
    stacked = np.empty((len(images), 3, side, side), np.uint8)
    for row, image in enumerate(images):
        plain = _plain(image.copy(), "RGB")
        square = plain.resize((side, side), Image.Resampling.BILINEAR, cut.box(plain.size, view))
        stacked[row] = np.asarray(square).transpose(2, 0, 1)
    return stacked


def stack_equal(images: Sequence[Image.Image]) -> Picture:
    """Pictures in memory that have one size, [n, channels, height, width]; grey if all of them are."""
    mode = "L" if all(image.mode in GREY for image in images) else "RGB"
    stacked: list[Picture] = []
    for row, image in enumerate(images):
        with readable(f"image {row}", "convert it to RGB"):
            pixels: Picture = np.atleast_3d(np.asarray(_plain(image.copy(), mode))).transpose(2, 0, 1)
        if stacked and pixels.shape != stacked[0].shape:
            sizes = " but ".join(f"{each.shape[2]} × {each.shape[1]}" for each in (stacked[0], pixels))
            raise InputError(f"image 0 has {sizes} pixels in image {row}; resize them to one size.")
        stacked.append(pixels)
    return np.stack(stacked)


def _shifted(pixels: Picture, view: View) -> Picture:
    """The crop of the picture [height, width, …] with a black border, as the device makes it in memory."""
    height, width = pixels.shape[:2]
    top, left = (int(where * (2 * PADDING + 1)) for where in (view.down, view.across))
    border = [(PADDING, PADDING), (PADDING, PADDING), *[(0, 0)] * (pixels.ndim - 2)]
    return np.pad(pixels, border)[top : top + height, left : left + width]


def read_header(path: Place) -> tuple[int, int, bool]:
    """(width, height, whether it is grey) of the picture when turned upright, without decoding it."""
    with _opened(path) as image:
        width, height = image.size
        if image.getexif().get(ORIENTATION, 1) >= 5:
            width, height = height, width
        return width, height, image.mode in GREY


def check_picture(path: Place) -> None:
    """Decode all of it. A JPEG is decoded at an eighth of its size: half the time, but every byte is read."""
    with _opened(path) as image:
        image.draft(None, (1, 1))
        _plain(image, "RGB")


@contextmanager
def _opened(path: Place) -> Iterator[Image.Image]:
    """The picture in the file; any error inside the block becomes an InputError."""
    remedy = "replace it or use --skip-bad-images"
    with readable(str(path), remedy), Image.open(path, formats=FORMATS) as image:
        limit = Image.MAX_IMAGE_PIXELS
        if limit is not None and image.width * image.height > limit:
            raise ValueError(f"it has over {limit:,} pixels")
        yield image


def _plain(image: Image.Image, mode: str) -> Image.Image:
    """Decoded, upright, with 8 bits a channel and white behind transparent pixels."""
    ImageOps.exif_transpose(image, in_place=True)
    if image.mode in WIDE_GREY:
        values: npt.NDArray[Any] = np.asarray(image)
        if values.min() < 0 or values.max() > 0xFFFF:
            raise ValueError("its pixels have more than 16 bits")
        return Image.fromarray((values.astype(np.uint16) >> 8).astype(np.uint8)).convert(mode)
    if image.mode == "F":
        raise ValueError("its pixels are real numbers of unknown range")
    if image.mode in TRANSPARENT or "transparency" in image.info:
        layer = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert(mode)
    return image.convert(mode)


class PictureFiles(LazyInputs):
    """Picture files at `paths` [n] below a folder, as inputs [n, channels, height, width]."""

    def __init__(self, folder: Path, paths: Sequence[str], cut: Cut) -> None:
        self.folder = folder
        self.paths = paths
        self.cut = cut

    @property
    def shape(self) -> tuple[int, ...]:
        """[n, channels, height, width]."""
        return (len(self.paths), self.cut.channels, self.cut.height, self.cut.width)

    @cached_property
    def digest(self) -> bytes:
        """Digest of names, file sizes and the cut.

        A picture that is replaced by one of the same size goes unnoticed: noticing it would take reading all
        files whenever the data are loaded.
        """
        names = [path.encode() for path in self.paths]
        ends = np.array(list(accumulate(map(len, names), initial=0)), np.int64)
        sizes = np.full(len(names), -1, np.int64)

        def measure(row: int) -> None:
            with suppress(OSError):  # −1 for a missing file
                sizes[row] = os.stat(os.path.join(self.folder, self.paths[row])).st_size

        for_each(measure, len(names))
        digest = hashlib.blake2b(f"{self.shape},{self.cut.resize};".encode())
        for part in (b"".join(names), ends.data, sizes.data):
            digest.update(part)
        return digest.digest()

    def read(self, row: int, view: View = View()) -> Picture:  # noqa: B008 - frozen
        """One picture, [channels, height, width]."""
        return read_picture(os.path.join(self.folder, self.paths[row]), self.cut, view)

    def content(self, row: int) -> bytes:
        """The bytes of the file, and how the picture is cropped."""
        path = Path(self.folder, self.paths[row])
        with readable(path, "replace it or use --skip-bad-images"):
            return repr(self.cut).encode() + path.read_bytes()

    def take(self, rows: Sequence[int] | Labels) -> "PictureFiles":
        """Only these pictures, in this order."""
        return PictureFiles(self.folder, [self.paths[row] for row in rows], self.cut)


def for_each(work: Callable[[int], None], count: int) -> None:
    """Call `work` with 0 … count−1 in threads. The exception of the lowest number is raised."""

    def piece(start: int) -> None:
        for row in range(start, min(start + PIECE, count)):
            work(row)

    with ThreadPoolExecutor(min(MOST_THREADS, available_cores())) as pool:
        for _ in pool.map(piece, range(0, count, PIECE)):
            pass


class PictureCheck:
    """Checks picture files. A bad one is an error, or is left out and noted if `skip` is set."""

    def __init__(self, source: str, *, skip: bool) -> None:
        self.source = source
        self.skip = skip
        self.complaints: list[str] = []
        """About the pictures left out, in the order of their rows."""

    def good_rows(self, folder: Path, paths: Sequence[str], check: Callable[[int, str], None]) -> Labels:
        """The rows whose `check(row, path)` raises no InputError."""
        bad: dict[int, str] = {}

        def examine(row: int) -> None:
            try:
                check(row, os.path.join(folder, paths[row]))
            except InputError as error:
                if not self.skip:
                    raise
                bad[row] = str(error).rsplit(";", 1)[0]  # without the remedy, which the user has chosen

        for_each(examine, len(paths))
        if bad and len(bad) == len(paths):
            raise InputError(f"{folder}: all of its {len(bad)} images are missing or damaged; restore some.")
        self.complaints += [bad[row] for row in sorted(bad)]
        return np.delete(np.arange(len(paths)), sorted(bad))

    def notes(self, total: int) -> tuple[str, ...]:
        """Messages for the user: how many of all pictures were left out, and which."""
        count = len(self.complaints)
        if not count:
            return ()
        heading = f"{self.source}: {count} of {total} images are missing or damaged and were skipped:"
        more = [f"… and {count - MOST_NAMED} more."] if count > MOST_NAMED else []
        return (heading, *self.complaints[:MOST_NAMED], *more)
