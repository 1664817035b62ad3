"""One picture file → numbers, as a person would see it: upright, in colour or grey, on white paper."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from noiselimit.data.bombs import refuse_bomb, room_for, webp_pixels
from noiselimit.data.lazy import PADDING, View
from noiselimit.errors import InputError
from noiselimit.opening import open_regular

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
