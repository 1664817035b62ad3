"""Sheets of suspicious pictures: a row for each given label, the suggested label below each picture."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from noiselimit.data.examples import DataSet
from noiselimit.files import atomic_file
from noiselimit.report.content import shorten
from noiselimit.report.html import pixels

Row = tuple[str, list[tuple[npt.NDArray[np.generic], str]]]
"""Title, and pictures with their captions."""
MOST_BYTES = 200_000
SIDE, TEXT, MARGIN = 64, 11, 6
LETTER = 6.5
"""Pixels of a letter's width."""


def draw_sheets(
    folder: Path, name: str, suspects: Sequence[tuple[int, int, int]], data: DataSet, highest: float
) -> None:
    """Draw (index, given class, suggested class) as NAME-1.png, NAME-2.png, ... in place of older sheets."""
    names, inputs = data.examples.class_names, data.examples.inputs
    rows: list[Row] = [(title, []) for title in names]
    for index, given, suggested in suspects:
        rows[given][1].append((np.asarray(inputs[[index]])[0] / highest, names[suggested]))
    for path in folder.glob(f"{name}-[0-9].png"):
        path.unlink()
    step = 10 if max(len(pictures) for _, pictures in rows) <= 8 else 4
    for number, start in enumerate(range(0, len(rows), step), 1):
        with atomic_file(folder / f"{name}-{number}.png") as temporary:
            temporary.write_bytes(_png(rows[start : start + step]))


def _png(rows: Sequence[Row]) -> bytes:
    left = round(2 * MARGIN + LETTER * min(max(len(title) for title, _ in rows), 14))
    width = left + max(len(pictures) for _, pictures in rows) * (SIDE + MARGIN)
    step = SIDE + TEXT + 2 * MARGIN
    colour = any(image.ndim == 3 and len(image) == 3 for _, pictures in rows for image, _ in pictures)
    ink = (29, 35, 43) if colour else 29
    canvas = Image.new("RGB" if colour else "L", (width, step * len(rows) + MARGIN), "white")
    pen, font = ImageDraw.Draw(canvas), ImageFont.load_default(TEXT)
    for number, (title, pictures) in enumerate(rows):
        top = MARGIN + number * step
        pen.text((MARGIN, top + SIDE / 2), shorten(title, 14), ink, font, anchor="lm")
        for column, (image, caption) in enumerate(pictures):
            x = left + column * (SIDE + MARGIN)
            picture = Image.fromarray(pixels(image))
            # Small pictures keep hard pixels, large ones are averaged.
            small = max(picture.size) <= SIDE
            how = Image.Resampling.NEAREST if small else Image.Resampling.LANCZOS
            canvas.paste(picture.resize((SIDE, SIDE), how), (x, top))
            pen.text(
                (x + SIDE / 2, top + SIDE + 2), shorten(caption, round(SIDE / LETTER)), ink, font, anchor="mt"
            )
    buffer = io.BytesIO()
    canvas.save(buffer, format="PNG", optimize=True)
    if buffer.tell() > MOST_BYTES:  # fewer colours
        buffer = io.BytesIO()
        canvas.quantize(64).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()
