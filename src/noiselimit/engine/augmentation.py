"""Random flips and crops of pictures.

Views are drawn for each position in the epoch's order from the run's own random stream, so a run sees the
same pictures alone and in a cohort, in memory and streamed.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from noiselimit.data.arrays import PADDING, View
from noiselimit.draws import words_at


class Views(NamedTuple):
    """`noiselimit.data.arrays.View` for [K, B] pictures."""

    flip: Tensor  # bool
    down: Tensor  # float32 in [0, 1)
    across: Tensor  # float32 in [0, 1)

    def between(self, start: int, stop: int) -> "Views":
        """The columns start … stop."""
        return Views(*(values[:, start:stop] for values in self))

    def at(self, positions: Tensor) -> "Views":
        """The columns at positions [B]."""
        return Views(*(values.index_select(1, positions) for values in self))

    def copy_(self, other: "Views") -> None:
        """Copy the other's values into these tensors."""
        for own, values in zip(self, other, strict=True):
            own.copy_(values)

    def of_row(self, row: int) -> list[View]:
        """One row as a list of `View`."""
        return [View(*values) for values in zip(*(each[row].tolist() for each in self), strict=True)]


def draw_views(augmentation: str, keys: Tensor, epoch: Tensor, positions: Tensor) -> Views:
    """Draw views for positions [K, B] of the epoch's order, from the keys [K] of the rows.

    `augmentation`: 'none', 'flip' (mirror), 'crop' (move by up to `PADDING` pixels) or 'flip-crop'.
    """
    words = words_at(keys, epoch, positions)
    flip, crop = "flip" in augmentation, "crop" in augmentation
    middle = torch.full(positions.shape, 0.5, device=positions.device)
    return Views(
        flip=(words & 1).bool() if flip else torch.zeros_like(positions, dtype=torch.bool),
        down=_fraction(words, 8) if crop else middle,
        across=_fraction(words, 32) if crop else middle,
    )


def _fraction(words: Tensor, bit: int) -> Tensor:
    """16 bits of each word as a float in [0, 1)."""
    return ((words >> bit) & 0xFFFF).to(torch.float32) * 2.0**-16


def cut(pictures: Tensor, views: Views) -> Tensor:
    """Pad, crop and mirror pictures [K, B, C, H, W]; the shape stays."""
    rows, batch, _, height, width = pictures.shape
    padded = pad(pictures.flatten(0, 1), (PADDING,) * 4)  # [K·B, C, H + 8, W + 8]
    flip, down, across = (values.flatten()[:, None] for values in views)
    places = 2 * PADDING + 1
    y = torch.arange(height, device=pictures.device) + (down * places).long()
    x = torch.arange(width, device=pictures.device).expand(rows * batch, -1)
    x = torch.where(flip, width - 1 - x, x) + (across * places).long()
    example = torch.arange(rows * batch, device=pictures.device)
    windows = padded[example[:, None, None], :, y[:, :, None], x[:, None, :]]  # [K·B, H, W, C]
    return windows.movedim(-1, 1).reshape(pictures.shape)
