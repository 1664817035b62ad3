"""Pictures that are missing or damaged: an error, or left out and reported."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from noiselimit.data.lazy import PADDING, LazyInputs, View
from noiselimit.errors import InputError
from noiselimit.files import open_regular
from noiselimit.machine import available_cores


class Paths(Sequence[str]):
    """Names relative to some folder, in order; as strings they can be written anywhere."""

    def __init__(self, names: Iterable[str | bytes]) -> None:
        blob, ends = bytearray(), [0]
        for name in names:
            blob += os.fsencode(name)
            ends.append(len(blob))
        self.blob = bytes(blob)
        self.ends: npt.NDArray[np.int64] = np.array(ends, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.ends) - 1

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> "Paths": ...
    def __getitem__(self, row: int | slice) -> "str | Paths":
        if isinstance(row, slice):
            return self.take(range(*row.indices(len(self))))
        return self.encoded(row).decode("utf-8", "replace")

    def encoded(self, row: int) -> bytes:
        """The name as the file system has it, which need not be text."""
        row = range(len(self))[row]
        return self.blob[self.ends[row] : self.ends[row + 1]]

    def take(self, rows: Iterable[int]) -> "Paths":
        """These names alone, in this order."""
        return Paths(self.encoded(int(row)) for row in rows)


MOST_PIXELS = 80_000_000  # more are refused before they are decoded; Pillow warns soon after
LARGE = 8_000_000  # pixels; of larger pictures one is decoded at a time, since each may take 15 bytes a pixel
_ONE_AT_A_TIME = Lock()


@contextmanager
def room_for(pixels: int) -> Iterator[None]:
    """Decode a picture of so many pixels in here."""
    refuse_bomb(pixels)
    with _ONE_AT_A_TIME if pixels > LARGE else nullcontext():
        yield


def refuse_bomb(pixels: int) -> None:
    """An error for more pixels than a picture may have."""
    if pixels > MOST_PIXELS:
        raise OverflowError(f"it has over {MOST_PIXELS:,} pixels")


def webp_pixels(header: bytes) -> int:
    """How many pixels the first 32 bytes of a WebP file declare; 0 for other files."""
    if header[:4] != b"RIFF" or header[8:12] != b"WEBP":
        return 0
    match header[12:16]:
        case b"VP8 ":
            return (
                int.from_bytes(header[26:28], "little")
                % 2**14
                * (int.from_bytes(header[28:30], "little") % 2**14)
            )
        case b"VP8L":
            bits = int.from_bytes(header[21:25], "little")
            return (1 + bits % 2**14) * (1 + (bits >> 14) % 2**14)
        case b"VP8X":
            return (1 + int.from_bytes(header[24:27], "little")) * (
                1 + int.from_bytes(header[27:30], "little")
            )
    return 0


ORIENTATION = 0x0112  # the EXIF tag; from 5 on, height and width change places
WIDE_GREY = ("I", "I;16", "I;16B", "I;16L", "I;16N")  # 16 bits a pixel, which Pillow would clip at 255
TRANSPARENT = ("LA", "La", "PA", "RGBA", "RGBa")
GREY = ("1", "L", "LA", "La", *WIDE_GREY)
FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF")  # Pillow knows more; for one it starts a program
MARGIN = 8 / 7  # of a scaled picture's shorter side to its window: 256 for 224, as usual
REMEDY = "replace it, or leave out such pictures with --skip-bad-images"

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Cut:
    """How a picture of any size becomes one of the size that the network takes."""

    height: int
    width: int
    resize: int | None = None
    """The shorter side is scaled to this before the window of height × width is cut; None: no scaling."""
    channels: int = 3
    """3: red, green, blue; 1: grey."""

    def __post_init__(self) -> None:
        if self.resize is not None and self.resize < max(self.height, self.width):
            raise ValueError(f"a window {self.height} × {self.width} is larger than the side {self.resize}")

    def box(self, size: tuple[int, int], view: View) -> Box:
        """The window (left, upper, right, lower) in pixels of a picture of (width, height) before scaling."""
        scale = min(size) / self.resize if self.resize else 1.0

        def place(length: int, window: int, where: float) -> tuple[float, float]:
            room = max(round(length / scale) - window, 0)
            start = int(where * (room + 1)) * scale
            stop = start + window * scale
            return start - max(stop - length, 0.0), min(stop, length)  # rounding may have made the room large

        left, right = place(size[0], self.width, view.across)
        upper, lower = place(size[1], self.height, view.down)
        return max(left, 0.0), max(upper, 0.0), right, lower


def read_picture(path: bytes, cut: Cut, view: View = View()) -> npt.NDArray[np.uint8]:  # noqa: B008 - frozen
    """The window of the first frame, [channels, height, width]."""
    with _opened(path) as image:
        if cut.resize:
            # A JPEG is decoded at a half, a quarter or an eighth where that is still twice too large.
            image.draft(None, (2 * cut.resize, 2 * cut.resize))
        upright = _plain(image, "RGB" if cut.channels == 3 else "L")
        if not cut.resize and upright.size != (cut.width, cut.height):
            width, height = upright.size
            raise InputError(
                f"{os.fsdecode(path)}: this picture has {width} × {height} pixels but others have "
                f"{cut.width} × {cut.height}; bring all to one size with --resize."
            )
        window = upright
        if cut.resize:
            box = cut.box(upright.size, view)
            window = upright.resize((cut.width, cut.height), Image.Resampling.BILINEAR, box)
        pixels: npt.NDArray[np.uint8] = np.asarray(window)
    if not cut.resize:
        pixels = _moved(pixels, view)
    if view.flip:
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels[np.newaxis] if pixels.ndim == 2 else pixels.transpose(2, 0, 1))


def _moved(pixels: npt.NDArray[np.uint8], view: View) -> npt.NDArray[np.uint8]:
    """The window of the picture [height, width, …] with black around it: what the device cuts in memory."""
    height, width = pixels.shape[:2]
    top, left = (int(where * (2 * PADDING + 1)) for where in (view.down, view.across))
    sides = [(PADDING, PADDING), (PADDING, PADDING), *[(0, 0)] * (pixels.ndim - 2)]
    return np.pad(pixels, sides)[top : top + height, left : left + width]


@dataclass(frozen=True)
class Header:
    """What a file says of its picture before it is decoded."""

    width: int
    height: int
    grey: bool


def read_header(path: bytes) -> Header:
    """Size, as it will be after turning the picture upright, and whether it is grey."""
    with _opened(path) as image:
        width, height = image.size
        if image.getexif().get(ORIENTATION, 1) >= 5:
            width, height = height, width
        return Header(width, height, image.mode in GREY)


def check_picture(path: bytes) -> None:
    """Decode all of it, JPEGs at an eighth of their size, which reads every byte and takes half the time."""
    with _opened(path) as image:
        image.draft(None, (1, 1))
        _plain(image, "RGB")


@contextmanager
def _opened(path: bytes) -> Iterator[Image.Image]:
    """The picture in the file; whatever goes wrong with it inside the block is said in one sentence."""
    try:
        with open_regular(path) as file:
            refuse_bomb(webp_pixels(file.read(32)))  # the one format that Pillow allocates when it opens it
            file.seek(0)
            with Image.open(file, formats=FORMATS) as image, room_for(image.width * image.height):
                yield image
    except InputError:
        raise
    except Exception as error:  # on damaged files Pillow raises nearly anything
        raise InputError(f"{os.fsdecode(path)}: this picture {_complaint(error)}; {REMEDY}.") from None


def _complaint(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "is missing"
    if isinstance(error, UnidentifiedImageError):
        return "cannot be decoded (no known picture format)"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"cannot be decoded ({(reason or type(error).__name__).splitlines()[0].rstrip('.')})"


def _plain(image: Image.Image, mode: str) -> Image.Image:
    """Decoded, upright and with 8 bits a channel; what is transparent shows white."""
    ImageOps.exif_transpose(image, in_place=True)
    if image.mode in WIDE_GREY:
        return _narrowed(image).convert(mode)
    if image.mode == "F":
        raise ValueError("its pixels are real numbers of no known range")
    if image.mode in TRANSPARENT or "transparency" in image.info:
        seen = image.convert("RGBA")
        paper = Image.new("RGBA", seen.size, "white")
        return Image.alpha_composite(paper, seen).convert(mode)
    return image.convert(mode)


def _narrowed(image: Image.Image) -> Image.Image:
    """The upper 8 of 16 bits."""
    values: npt.NDArray[Any] = np.asarray(image)
    if values.min() < 0 or values.max() > 0xFFFF:
        raise ValueError("its pixels have more than 16 bits")
    return Image.fromarray((values.astype(np.uint16) >> 8).astype(np.uint8))


PIECE = 256  # pictures for a thread at a time
MOST_THREADS = 8


class PictureFiles(LazyInputs):
    """Files below a folder as inputs [n, channels, height, width]; a million of them take some 45 MB."""

    def __init__(self, folder: Path, paths: Paths, cut: Cut) -> None:
        self.folder = folder
        self.paths = paths
        self.cut = cut

    @property
    def shape(self) -> tuple[int, ...]:
        """[n, channels, height, width]."""
        return (len(self.paths), self.cut.channels, self.cut.height, self.cut.width)

    @cached_property
    def digest(self) -> bytes:
        """Of names, file sizes and the cut. A picture replaced by one of as many bytes is not noticed: that
        would take reading all files whenever the data are named."""
        digest = hashlib.blake2b(f"{self.shape},{self.cut.resize};".encode())
        digest.update(self.paths.blob)
        digest.update(self.paths.ends.data)
        digest.update(file_sizes(self.folder, self.paths).data)
        return digest.digest()

    def path(self, row: int) -> bytes:
        """Where the picture lies."""
        return os.path.join(os.fsencode(self.folder), self.paths.encoded(row))

    def read(self, row: int, view: View = View()) -> npt.NDArray[np.uint8]:  # noqa: B008 - frozen
        """One picture, [channels, height, width]."""
        return read_picture(self.path(row), self.cut, view)

    def take(self, rows: Sequence[int]) -> "PictureFiles":
        """These pictures alone, in this order."""
        return PictureFiles(self.folder, self.paths.take(rows), self.cut)


def file_sizes(folder: Path, paths: Paths) -> npt.NDArray[np.int64]:
    """Bytes of each file [n]; −1 where there is none."""
    sizes = np.full(len(paths), -1, np.int64)
    root = os.fsencode(folder)

    def measure(row: int) -> None:
        try:
            sizes[row] = os.stat(os.path.join(root, paths.encoded(row))).st_size
        except OSError:
            sizes[row] = -1

    for_each(measure, len(paths))
    return sizes


def for_each(work: Callable[[int], None], count: int) -> None:
    """Do it for 0 … count − 1 in threads; Pillow decodes, and a disk answers, while others run.

    The first exception, by number, is the one raised, and ends the rest.
    """

    def do(rows: range) -> None:
        for row in rows:
            work(row)

    with ThreadPoolExecutor(min(MOST_THREADS, available_cores())) as pool:
        starts = range(0, count, PIECE)
        futures = [pool.submit(do, range(start, min(start + PIECE, count))) for start in starts]
        try:
            for future in futures:
                future.result()
        finally:
            for future in futures:
                future.cancel()


MOST_NAMED = 20


@dataclass(frozen=True)
class BadPictures:
    """What was left out of some data."""

    complaints: tuple[str, ...] = ()
    of: int = 0
    """How many pictures there were."""

    def __add__(self, other: "BadPictures") -> "BadPictures":
        return BadPictures(self.complaints + other.complaints, self.of + other.of)

    def notes(self, source: str) -> tuple[str, ...]:
        """For the user: how many, and which."""
        count = len(self.complaints)
        if not count:
            return ()
        more = (f"… and {count - MOST_NAMED} more.",) if count > MOST_NAMED else ()
        return (
            f"{source}: {count} of {self.of} pictures are missing or damaged and were left out:",
            *self.complaints[:MOST_NAMED],
            *more,
        )


def good_pictures(
    folder: Path, paths: Paths, check: Callable[[int, bytes], None], *, skip: bool
) -> tuple[npt.NDArray[np.int64], BadPictures]:
    """The rows whose `check(row, path)` finds nothing wrong, and the rest; without `skip` these are an error.

    A check raises InputError. They run in threads, yet the first bad row is the one complained of.
    """
    complaints: dict[int, str] = {}
    root = os.fsencode(folder)

    def examine(row: int) -> None:
        try:
            check(row, os.path.join(root, paths.encoded(row)))
        except InputError as error:
            if not skip:
                raise
            complaints[row] = str(error).rsplit(";", 1)[0]  # without the remedy, which the user has chosen

    for_each(examine, len(paths))
    bad = sorted(complaints)
    kept = np.delete(np.arange(len(paths)), bad)
    if not len(kept) and bad:
        raise InputError(
            f"{folder}: all of its {len(bad)} pictures are missing or damaged, the first being "
            f"{paths[0]}; name the folder that has them."
        )
    return kept, BadPictures(tuple(complaints[row] for row in bad), len(paths))


def require_good_of_each(class_names: Sequence[str], labels: npt.NDArray[np.int64], source: str) -> None:
    """An error where bad pictures, left out, were all that a class had."""
    counts = np.bincount(labels, minlength=len(class_names))
    if not counts.all():
        name = class_names[int(np.argmin(counts))]
        raise InputError(
            f"{source}: all pictures of class '{name}' are missing or damaged; "
            "restore some, or remove the class from the data."
        )


def require_file(row: int, path: bytes) -> None:
    """The quickest check: whether there is a file, and something in it."""
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise InputError(
            f"{os.fsdecode(path)}: this picture is missing ({error.strerror}); "
            "restore it, or leave out such pictures with --skip-bad-images."
        ) from None
    if not size:
        raise InputError(
            f"{os.fsdecode(path)}: this picture is empty; "
            "restore it, or leave out such pictures with --skip-bad-images."
        )
