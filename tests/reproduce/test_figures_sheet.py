import io

import numpy as np
from PIL import Image

from noiselimit.reproduce.figures.sheet import Picture, Row, sheet


def noise_rows(rows: int, columns: int, channels: int, side: int) -> list[Row]:
    """Pictures that no compression makes smaller."""
    pixels = np.random.default_rng(0).integers(0, 256, (rows, columns, channels, side, side), np.uint8)
    return [Row(f"class {r}", [Picture(image, "other") for image in row]) for r, row in enumerate(pixels)]


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def test_pictures_stand_in_their_rows() -> None:
    light, dark = np.full((8, 8), 1.0), np.zeros((8, 8))
    picture = opened(sheet([Row("a", [Picture(light, "b"), Picture(dark, "a")])], side=32))
    values = np.asarray(picture)
    assert picture.mode == "L"
    left = values.shape[1] - 2 * 32 - 2 * 6  # two pictures, the space between and after them
    assert (values[6:38, left : left + 32] == 255).all()
    assert (values[6:38, left + 38 : left + 70] == 0).all()
    assert (values[38:] < 200).any(), "words below"


def test_a_sheet_is_as_small_as_asked_for() -> None:
    rows = noise_rows(4, 8, 3, 32)
    whole = sheet(rows)
    less = sheet(rows, most_bytes=len(whole) // 2)
    assert len(less) <= len(whole) // 2
    assert opened(less).size == opened(whole).size, "fewer colours come before fewer pixels"
    least = sheet(rows, most_bytes=9000)
    assert len(least) <= 9000
    assert opened(least).width < opened(whole).width


def test_a_class_without_pictures_is_an_empty_row() -> None:
    rows = [*noise_rows(1, 3, 3, 32), Row("none", [])]
    assert opened(sheet(rows)).height > opened(sheet(rows[:1])).height
