"""Random cuts of pictures: mirrored, and moved by up to four pixels, the standard for 32 × 32 pictures.

Drawn anew for every place of an epoch's order, from the run's own stream, so a run sees the same pictures
alone, in a cohort and in larger batches, and pictures that are streamed unscaled are cut alike.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from noiselimit.data.arrays import PADDING, View
from noiselimit.draws import words_at


@dataclass(frozen=True)
class Augmentation:
    """What may happen to a picture on its way into training."""

    flip: bool = False
    crop: bool = False

    def __bool__(self) -> bool:
        return self.flip or self.crop


AUGMENTATIONS = {
    "none": Augmentation(),
    "flip": Augmentation(flip=True),
    "crop": Augmentation(crop=True),
    "flip-crop": Augmentation(flip=True, crop=True),
}


@dataclass(frozen=True, eq=False)
class Views:
    """What was drawn for [K, B] places: `noiselimit.data.arrays.View` for many at once."""

    flip: Tensor
    """bool [K, B]."""
    down: Tensor
    across: Tensor
    """float32 [K, B] in [0, 1)."""

    def between(self, start: int, stop: int) -> "Views":
        """Those of the places start … stop."""
        return Views(self.flip[:, start:stop], self.down[:, start:stop], self.across[:, start:stop])

    def at(self, positions: Tensor) -> "Views":
        """Those of these places [B], in all rows."""
        return Views(*(values.index_select(1, positions) for values in (self.flip, self.down, self.across)))

    def copy_(self, other: "Views") -> None:
        """Take over what the other says, in the same tensors."""
        self.flip.copy_(other.flip)
        self.down.copy_(other.down)
        self.across.copy_(other.across)

    def of_row(self, row: int) -> list[View]:
        """The row's views one by one, for pictures that are read one by one."""
        columns = (values[row].tolist() for values in (self.flip, self.down, self.across))
        return [View(*values) for values in zip(*columns, strict=True)]


def draw_views(augmentation: Augmentation, keys: Tensor, epoch: Tensor, places: Tensor) -> Views:
    """Views for these places [K, B] of the epoch's order, from each row's key [K]; one word each serves."""
    words = words_at(keys, epoch, places)
    middle = torch.full(places.shape, 0.5, device=places.device)
    return Views(
        flip=(words & 1).bool() if augmentation.flip else torch.zeros_like(places, dtype=torch.bool),
        down=_fraction(words, 8) if augmentation.crop else middle,
        across=_fraction(words, 32) if augmentation.crop else middle,
    )


def _fraction(words: Tensor, bit: int) -> Tensor:
    """16 of the word's bits as a float in [0, 1), exactly."""
    return ((words >> bit) & 0xFFFF).to(torch.float32) * 2.0**-16


def cut(pictures: Tensor, views: Views) -> Tensor:
    """[K, B, C, H, W] → the same shape: pad, take the window that the view says, mirror."""
    rows, batch, _, height, width = pictures.shape
    padded = pad(pictures.flatten(0, 1), (PADDING,) * 4)  # [K·B, C, H + 8, W + 8]
    flip, down, across = (values.flatten()[:, None] for values in (views.flip, views.down, views.across))
    places = 2 * PADDING + 1
    y = torch.arange(height, device=pictures.device) + (down * places).long()
    x = torch.arange(width, device=pictures.device).expand(rows * batch, -1)
    x = torch.where(flip, width - 1 - x, x) + (across * places).long()
    example = torch.arange(rows * batch, device=pictures.device)
    windows = padded[example[:, None, None], :, y[:, :, None], x[:, None, :]]  # [K·B, H, W, C]
    return windows.movedim(-1, 1).reshape(pictures.shape)
