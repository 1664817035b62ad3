"""Pictures in rows with a word under each: one small PNG file."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from noiselimit.report.pictures import pixels
from noiselimit.report.wording import shorten

MOST_BYTES = 200_000
COLOURS = (256, 128, 64, 32)
_TEXT, _MARGIN = 11, 6
_LETTER = 6.5


@dataclass(frozen=True, eq=False)
class Picture:
    """One of a row."""

    image: npt.NDArray[np.generic]
    """[C, H, W] or [H, W]."""
    caption: str


@dataclass(frozen=True, eq=False)
class Row:
    """What stands beside each other."""

    title: str
    pictures: Sequence[Picture]


def sheet(rows: Sequence[Row], *, side: int = 64, most_bytes: int = MOST_BYTES) -> bytes:
    """A PNG file of at most `most_bytes`: with fewer colours, and then smaller pictures, where need be."""
    while True:
        drawn = _drawn(rows, side)
        content = _png(drawn)
        for colours in COLOURS:
            if len(content) <= most_bytes:
                return content
            content = _png(drawn.quantize(colours))
        if len(content) <= most_bytes or side <= 16:
            return content
        side = side * 3 // 4


def _drawn(rows: Sequence[Row], side: int) -> Image.Image:
    longest = max((len(row.title) for row in rows), default=0)
    left = round(2 * _MARGIN + _LETTER * min(longest, 14))
    columns = max((len(row.pictures) for row in rows), default=0)
    width, step = left + columns * (side + _MARGIN), side + _TEXT + 2 * _MARGIN
    colour = any(
        picture.image.ndim == 3 and len(picture.image) == 3 for row in rows for picture in row.pictures
    )
    canvas = Image.new("RGB" if colour else "L", (width, step * len(rows) + _MARGIN), _white(colour))
    pen, font = ImageDraw.Draw(canvas), ImageFont.load_default(_TEXT)
    for number, row in enumerate(rows):
        top = _MARGIN + number * step
        pen.text((_MARGIN, top + side / 2), shorten(row.title, 14), _black(colour), font, anchor="lm")
        for column, picture in enumerate(row.pictures):
            x = left + column * (side + _MARGIN)
            canvas.paste(_scaled(picture.image, side), (x, top))
            words = shorten(picture.caption, max(round(side / _LETTER), 1))
            pen.text((x + side / 2, top + side + 2), words, _black(colour), font, anchor="mt")
    return canvas


def _scaled(image: npt.NDArray[np.generic], side: int) -> Image.Image:
    """Small pictures keep hard pixels, large ones are averaged."""
    picture = Image.fromarray(pixels(image))
    how = Image.Resampling.NEAREST if max(picture.size) <= side else Image.Resampling.LANCZOS
    return picture.resize((side, side), how)


def _png(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def _white(colour: bool) -> Any:
    return (255, 255, 255) if colour else 255


def _black(colour: bool) -> Any:
    return (29, 35, 43) if colour else 29
