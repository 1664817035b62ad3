"""What a reviewer sees of an example: a picture, a text, or a row of a table; and which others look alike."""

import io
import threading
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from statistics import mode
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from noiselimit.audit.neighbours import nearest, squared_norms
from noiselimit.audit.quality import Floats
from noiselimit.data.arrays import highest_value
from noiselimit.data.columns import Numeric, Text
from noiselimit.data.examples import DataSet
from noiselimit.data.image_tar import TarPictures
from noiselimit.data.pictures import read_whole
from noiselimit.data.tables import kept_as
from noiselimit.report.content import legal, shorten
from noiselimit.review.estimate import Integers

THUMBNAIL, LARGE = 160, 1024
SMALL = 128
"""Pictures up to this side are PNG, which keeps every pixel; larger ones are JPEG."""
TINY = 64
THUMBNAILS_KEPT = 20_000
PREVIEW, LONGEST_CELL, LONGEST_TEXT = 140, 300, 200_000
PREVIEW_COLUMNS, MOST_COLUMNS = 4, 200
MOST_TELLING, TELLING = 3, 0.5
"""Columns that are marked at most, and how much a value must favour the suggested class (in nats)."""
SPREAD_EXAMPLES = 100_000
"""Examples that tell the standard deviation of each feature."""
SAMPLE = 400
"""Examples that show what is usual in a class."""

Kind = Literal["picture", "text", "row"]
Features = npt.NDArray[np.float32]


class Looks:
    """The examples of a data set as a person sees them.

    Parameters
    ----------
    data
        The audited data.
    members
        The rows that clearly belong to a class, by its number.
    folder
        Below it are the files of pictures that have names; they may be larger than what was trained on.
    """

    def __init__(self, data: DataSet, members: Callable[[int], Integers], folder: Path | None = None) -> None:
        self._data = data
        self._folder = folder if data.examples.names is not None and data.shown.ndim == 4 else None
        self._members = members
        self.thumbnail = lru_cache(THUMBNAILS_KEPT)(lambda row: self._picture(row, THUMBNAIL))
        self.large = lru_cache(16)(lambda row: self._picture(row, LARGE))
        self._usual = lru_cache(None)(self._find_usual)
        self._mean = lru_cache(None)(self._find_mean)

    @cached_property
    def kind(self) -> Kind:
        """What the examples are."""
        if self._data.shown.ndim == 4:
            return "picture"
        return "text" if self._texts else "row"

    @cached_property
    def tiny(self) -> bool:
        """Whether pictures are so small that their pixels should stay visible when they are enlarged."""
        shown = self._data.shown
        return shown.ndim == 4 and self._folder is None and max(shown.shape[2:]) <= TINY

    @cached_property
    def _texts(self) -> dict[str, npt.NDArray[Any]]:
        """Name and values [n] of each text column."""
        if self._data.table is None:
            return {}
        texts = [column for column in self._data.table.columns if isinstance(column, Text)]
        return {column.name: self._data.examples.kept[kept_as(column) or ""] for column in texts}

    @cached_property
    def _highest(self) -> float:
        """The value that is white."""
        shown = self._data.shown
        # Integer pictures need not use the full range: digits end at 16. All pictures share one scale.
        return max(1.0, highest_value(shown)) if shown.dtype == np.uint8 else 1.0

    def _picture(self, row: int, side: int) -> tuple[bytes, str]:
        """(encoded picture, media type), encoded anew, so that nothing but a picture is served."""
        shown = self._data.shown
        if self._folder is not None and self._data.examples.names is not None:
            file = self._folder / self._data.examples.names[row]
            image = read_whole(shown.member(row) if isinstance(shown, TarPictures) else file, side)
        else:
            image = to_image(np.asarray(shown[row]), self._highest)
            image.thumbnail((side, side))
        small = max(image.size) <= SMALL
        buffer = io.BytesIO()
        image.save(buffer, format="PNG" if small else "JPEG", **({} if small else {"quality": 88}))
        return buffer.getvalue(), "image/png" if small else "image/jpeg"

    def preview(self, row: int) -> str:
        """One line for a list; empty for pictures."""
        if self.kind == "picture":
            return ""
        if self.kind == "text":
            text = " ".join(" ".join(str(values[row]) for values in self._texts.values()).split())
            return legal(shorten(text, PREVIEW))
        cells = [f"{name} {value}" for name, value, _ in self._cells(row)[:PREVIEW_COLUMNS]]
        return legal(shorten(" · ".join(cells), PREVIEW))

    def texts(self, row: int) -> list[dict[str, str]]:
        """The whole texts of a row."""
        return [
            {"name": legal(name), "text": legal(str(values[row])[:LONGEST_TEXT])}
            for name, values in self._texts.items()
        ]

    def columns(self, row: int, given: int, other: int) -> list[dict[str, Any]]:
        """Each column, the telling ones first: its value, and what is usual in both classes."""
        if self.kind == "picture":
            return []
        cells = self._cells(row)
        values = [self._usual(given), self._usual(other)] if given >= 0 and other >= 0 else []
        evidence = self._evidence(row, given, other) if values else np.zeros(len(cells))
        telling = {int(place) for place in np.argsort(-evidence)[:MOST_TELLING] if evidence[place] >= TELLING}
        order = sorted(range(len(cells)), key=lambda place: (place not in telling, place))[:MOST_COLUMNS]
        return [
            {
                "name": legal(cells[place][0]),
                "value": legal(cells[place][1]),
                "given": legal(values[0][place]) if values else "",
                "other": legal(values[1][place]) if values else "",
                "telling": place in telling,
            }
            for place in order
        ]

    @cached_property
    def _places(self) -> list[tuple[Any, slice]]:
        """Each column that is no text, and the places of its features."""
        inputs, table = self._data.examples.inputs, self._data.table
        if table is None:
            return [(None, slice(place, place + 1)) for place in range(inputs.shape[1])]
        ends = accumulate(column.width for column in table.columns)
        found = [
            (column, slice(end - column.width, end)) for column, end in zip(table.columns, ends, strict=True)
        ]
        return [(column, place) for column, place in found if not isinstance(column, Text)]

    def _cells(self, row: int) -> list[tuple[str, str, slice]]:
        """Name, value and features of each column that is no text."""
        values, kept = np.asarray(self._data.examples.inputs[row]), self._data.examples.kept
        cells = []
        for column, place in self._places:
            if column is None:
                cells.append((f"value {place.start}", f"{values[place.start]:.5g}", place))
                continue
            own = kept.get(kept_as(column) or "")
            shown = column.show(values[place]) if own is None else str(own[row])
            cells.append((column.name, shorten(shown, LONGEST_CELL), place))
        return cells

    def _find_usual(self, number: int) -> list[str]:
        """What is usual in a class: the median of a column of numbers, else the most frequent value."""
        rows = self._members(number)[:SAMPLE]
        values = np.asarray(self._data.examples.inputs[rows])
        usual = []
        for column, place in self._places:
            if not len(rows) or (column is not None and not column.width):  # identifiers
                usual.append("")
            elif column is None or isinstance(column, Numeric):
                usual.append(f"{np.median(values[:, place.start]):.5g}")
            else:
                usual.append(shorten(mode(column.show(each) for each in values[:, place]), LONGEST_CELL))
        return usual

    @cached_property
    def _spread(self) -> npt.NDArray[np.float64]:
        """Standard deviation [d] of each feature."""
        inputs: Any = self._data.examples.inputs
        step = -(-len(inputs) // SPREAD_EXAMPLES)
        spread = inputs[::step].std(0, dtype=np.float64)
        return np.where(spread > 0, spread, np.inf)

    def _find_mean(self, number: int) -> npt.NDArray[np.float64] | float:
        """Mean [d] of each feature in a class."""
        inputs: Any = self._data.examples.inputs
        rows = self._members(number)[:SAMPLE]
        return np.asarray(inputs[rows].mean(0, dtype=np.float64)) if len(rows) else np.nan

    def _evidence(self, row: int, given: int, other: int) -> npt.NDArray[np.float64]:
        """How much each column favours the other class over the given one, as logarithm of likelihoods."""
        spread = self._spread
        value = np.asarray(self._data.examples.inputs[row], np.float64)
        ratio = (
            ((value - self._mean(given)) / spread) ** 2 - ((value - self._mean(other)) / spread) ** 2
        ) / 2
        sums: npt.NDArray[np.float64] = np.array([ratio[place].sum() for _, place in self._places])
        return np.asarray(np.nan_to_num(sums), np.float64)


def to_image(picture: npt.NDArray[Any], highest: float) -> Image.Image:
    """A picture [channels, height, width] whose values go up to `highest`."""
    # Opacity is left out; of channels that are no colours, only the first is shown.
    colours = picture[: {1: 1, 3: 3, 4: 3}.get(len(picture), 1)].astype(np.float64) / highest
    values = np.nan_to_num(colours, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    if low < 0.0 or high > 1.0:
        values = (values - low) / ((high - low) or 1.0)
    pixels = np.rint(255 * values).astype(np.uint8)
    return Image.fromarray(
        np.ascontiguousarray(pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1))
    )


class Neighbours:
    """The nearest examples, by the Euclidean distance of features, which load in the background."""

    def __init__(self, load: Callable[[], Features]) -> None:
        self._ready = threading.Event()
        self._features: Features | None = None
        self._squares: Floats | None = None
        self.problem: str | None = None
        self.nearest = lru_cache(4096)(self._find)
        self._thread = threading.Thread(target=self._fill, args=(load,), daemon=True)
        self._thread.start()

    def _fill(self, load: Callable[[], Features]) -> None:
        try:
            features = load()
            self._features, self._squares = features, squared_norms(features)
        except Exception as error:  # the review goes on without neighbours, and the page says why
            self.problem = str(error)
        self._ready.set()

    def wait(self, seconds: float) -> bool:
        """Whether neighbours can be asked for, or a problem is known, within this time."""
        return self._ready.wait(seconds)

    def _find(self, row: int, count: int) -> tuple[int, ...]:
        if self._features is None or self._squares is None:
            return ()
        (found,) = nearest(self._features, self._squares, [row], count)
        return tuple(found.tolist())
