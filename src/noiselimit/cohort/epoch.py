"""What the steps of one epoch share. Its tensors are refilled from epoch to epoch, never replaced: a recorded
step looks for them where they were."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from noiselimit.augmentation import AUGMENTATIONS, Views, draw_views
from noiselimit.cohort.block_data import Part
from noiselimit.cohort.totals import EpochTotals
from noiselimit.draws import stream_keys
from noiselimit.optimisers import Rates
from noiselimit.randomness import Stream
from noiselimit.samplers import SAMPLERS
from noiselimit.schedules import SCHEDULES
from noiselimit.spec import RunSpec


@dataclass(frozen=True, eq=False)
class Epoch:
    """One pass of K rows over their training examples."""

    order_keys: Tensor
    augmentation_keys: Tensor
    """int64 [K]: where each row draws from."""
    order: Tensor
    """int64 [K, m]: positions in the order in which each row visits them."""
    views: Views | None
    """[K, m] how each place's picture is varied."""
    place: Tensor
    """int64 []: how many places of the order have been visited."""
    rates: Rates
    totals: EpochTotals

    @classmethod
    def empty(cls, specs: Sequence[RunSpec], part: Part, device: torch.device, step: int = 0) -> "Epoch":
        """Room for an epoch of these runs, `step` steps into their training."""

        def zeros(*shape: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        rows, count = part.index.shape
        seeds = [spec.seed for spec in specs]
        unvaried = Views(
            zeros(rows, count, dtype=torch.bool),
            zeros(rows, count, dtype=torch.float32),
            zeros(rows, count, dtype=torch.float32),
        )
        return cls(
            order_keys=stream_keys(seeds, Stream.ORDER, device),
            augmentation_keys=stream_keys(seeds, Stream.AUGMENTATION, device),
            order=zeros(rows, count, dtype=torch.int64),
            views=unvaried if AUGMENTATIONS[specs[0].augmentation] else None,
            place=zeros(dtype=torch.int64),
            rates=Rates(
                learning_rate=zeros(rows, dtype=torch.float64),
                weight_decay=zeros(rows, dtype=torch.float64),
                momentum=zeros(rows, dtype=torch.float64),
                step=torch.tensor(step, device=device),
            ),
            totals=EpochTotals.zeros(rows, device),
        )

    def begin(self, epoch: int, specs: Sequence[RunSpec], part: Part) -> None:
        """Draw the epoch's order and views, set its rates, and start counting anew."""
        now = torch.tensor(epoch, device=self.order.device)
        self.order.copy_(SAMPLERS[specs[0].sampler](self.order_keys, now, part.labels))
        if self.views is not None:
            places = torch.arange(self.order.shape[1], device=self.order.device).expand_as(self.order)
            augmentation = AUGMENTATIONS[specs[0].augmentation]
            self.views.copy_(draw_views(augmentation, self.augmentation_keys, now, places))
        for rate, values in (
            (self.rates.learning_rate, [learning_rate(spec, epoch) for spec in specs]),
            (self.rates.weight_decay, [spec.weight_decay for spec in specs]),
            (self.rates.momentum, [spec.momentum for spec in specs]),
        ):
            rate.copy_(torch.tensor(values, dtype=torch.float64))
        self.place.zero_()
        self.totals.clear()

    def next_places(self, size: int) -> tuple[Tensor, Views | None]:
        """The next `size` positions [K, size] of the order, with their views."""
        places = self.place + torch.arange(size, device=self.place.device)
        self.place.add_(size)
        return self.order.index_select(1, places), None if self.views is None else self.views.at(places)


def learning_rate(spec: RunSpec, epoch: int) -> float:
    """By the run's schedule."""
    return spec.learning_rate * SCHEDULES[spec.schedule]((epoch - 1) / spec.epochs)
