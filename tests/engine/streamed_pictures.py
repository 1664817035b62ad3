"""Pictures in memory that are read like pictures from files."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from noiselimit.data.arrays import LazyInputs, View
from noiselimit.data.examples import DataSet
from noiselimit.engine.block_data import Views, cut


class StreamedPictures(LazyInputs):
    """Cut and mirrored as on the device; `most` counts how many were read at once."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array, self.most = array, 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def digest(self) -> bytes:
        return b"pictures"

    def read(self, row: int, view: View = View()) -> npt.NDArray[np.uint8]:  # noqa: B008
        views = Views(*(torch.tensor([[value]]) for value in (view.flip, view.down, view.across)))
        return np.asarray(cut(torch.from_numpy(self.array[row])[None, None], views)[0, 0].numpy())

    def take(self, rows: Sequence[int]) -> "StreamedPictures":
        return StreamedPictures(self.array[list(rows)])

    def __getitem__(self, rows: Any) -> npt.NDArray[np.uint8]:
        found = super().__getitem__(rows)
        self.most = max(self.most, len(found))
        return found


def streamed(data: DataSet) -> DataSet:
    """The same data set, streamed."""
    inputs = StreamedPictures(np.asarray(data.examples.inputs))
    return dataclasses.replace(data, examples=dataclasses.replace(data.examples, inputs=inputs))
