"""Pictures in memory behind the words of a stream."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from noiselimit.data.arrays import LazyInputs, View
from noiselimit.draws import stream_keys
from noiselimit.engine.augmentation import AUGMENTATIONS, cut, draw_views
from noiselimit.randomness import Stream

CPU = torch.device("cpu")
MIDDLE = (stream_keys([0], Stream.AUGMENTATION, CPU), torch.tensor(0), torch.zeros(1, 1, dtype=torch.int64))


class StreamedPictures(LazyInputs):
    """Turned and cut as the device would."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def digest(self) -> bytes:
        return b"pictures"

    def read(self, row: int, view: View = View()) -> npt.NDArray[np.uint8]:  # noqa: B008
        views = draw_views(AUGMENTATIONS["none"], *MIDDLE)
        views = dataclasses.replace(
            views,
            flip=torch.tensor([[view.flip]]),
            down=torch.tensor([[view.down]]),
            across=torch.tensor([[view.across]]),
        )
        return np.asarray(cut(torch.from_numpy(self.array[row])[None, None], views)[0, 0].numpy())
