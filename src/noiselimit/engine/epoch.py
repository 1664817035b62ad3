"""What changes from epoch to epoch and from step to step: order, views, rates, totals and losses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from noiselimit.engine.block_data import InputBatch, Part, Views, draw_views
from noiselimit.engine.metrics import EpochTotals
from noiselimit.engine.optimisers import SCHEDULES, Rates
from noiselimit.engine.results import Row
from noiselimit.methods import Batch, Method, get_method
from noiselimit.randomness import DRAWS, SAMPLERS, Stream, stream_keys
from noiselimit.runs.spec import RunSpec


def batch_bounds(count: int, size: int) -> list[tuple[int, int]]:
    """(start, stop) of every batch; the last may be smaller.

    A last batch of one example joins the one before: batch-norm needs more than one value.
    """
    starts = list(range(0, count, size))
    if count % size == 1 and len(starts) > 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], count], strict=True))


def learning_rate(spec: RunSpec, epoch: int) -> float:
    """The learning rate of an epoch, counted from 1."""
    return spec.learning_rate * SCHEDULES[spec.schedule]((epoch - 1) / spec.epochs)


@dataclass(frozen=True, eq=False)
class Epoch:
    """One pass of K rows over their m training examples. A CUDA graph uses its tensors, so they stay."""

    order_keys: Tensor
    augmentation_keys: Tensor
    """int64 [K]: keys of the random streams."""
    order: Tensor  # int64 [K, m]: the positions in the order in which each row visits them
    views: Views | None  # [K, m]: how the picture at each place of the order is augmented
    place: Tensor  # int64 []: how many places of the order were visited
    rates: Rates
    totals: EpochTotals

    @classmethod
    def empty(cls, specs: Sequence[RunSpec], part: Part, device: torch.device, step: int) -> "Epoch":
        """Allocate the tensors for these runs, after `step` steps."""

        def zeros(*shape: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        rows, count = part.index.shape
        seeds = [spec.seed for spec in specs]
        views = None
        if specs[0].augmentation != "none":
            flip = zeros(rows, count, dtype=torch.bool)
            views = Views(flip, *(zeros(rows, count, dtype=torch.float32) for _ in range(2)))
        return cls(
            order_keys=stream_keys(seeds, Stream.ORDER, device),
            augmentation_keys=stream_keys(seeds, Stream.AUGMENTATION, device),
            order=zeros(rows, count, dtype=torch.int64),
            views=views,
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
        """Draw the order and the views, set the rates and clear the totals."""
        now = torch.tensor(epoch, device=self.order.device)
        self.order.copy_(SAMPLERS[specs[0].sampler](self.order_keys, now, part.labels))
        if self.views is not None:
            places = torch.arange(self.order.shape[1], device=self.order.device).expand_as(self.order)
            self.views.copy_(draw_views(specs[0].augmentation, self.augmentation_keys, now, places))
        for rate, values in (
            (self.rates.learning_rate, [learning_rate(spec, epoch) for spec in specs]),
            (self.rates.weight_decay, [spec.weight_decay for spec in specs]),
            (self.rates.momentum, [spec.momentum for spec in specs]),
        ):
            rate.copy_(torch.tensor(values, dtype=torch.float64))
        self.place.zero_()
        self.totals.clear()

    def next_positions(self, size: int) -> tuple[Tensor, Views | None]:
        """The next `size` positions [K, size] of the order, with their views."""
        places = self.place + torch.arange(size, device=self.place.device)
        self.place.add_(size)
        return self.order.index_select(1, places), None if self.views is None else self.views.at(places)


@dataclass(frozen=True)
class MethodRows:
    """Consecutive rows of one method."""

    method: Method
    rows: slice
    hyper: Mapping[str, Tensor]
    sampling_keys: Tensor
    transition: Tensor | None


def method_rows(rows: Sequence[Row], device: torch.device) -> list[MethodRows]:
    """Group the rows by method; the rows of a method are consecutive."""
    groups = []
    methods = [row.spec.method for row in rows]
    for name in dict.fromkeys(methods):
        places = slice(methods.index(name), methods.index(name) + methods.count(name))
        members, method = rows[places], get_method(name)
        hyper = {
            h: torch.tensor([row.spec.hyper[h] for row in members], dtype=torch.float32, device=device)
            for h in method.hyper
        }
        keys = stream_keys([row.spec.seed for row in members], Stream.SAMPLING, device)
        matrices = [row.transition for row in members if row.transition is not None]
        groups.append(MethodRows(method, places, hyper, keys, torch.stack(matrices) if matrices else None))
    return groups


def compute_losses(
    groups: Sequence[MethodRows],
    given: InputBatch,
    logits: Tensor,
    features: Tensor,
    predicted: Tensor | None,
    step: Tensor,
) -> Tensor:
    """Losses [K] from logits [K, B, C], features [K, B, F] and predictor logits [P, B, C] at this step []."""
    found = []
    for group in groups:
        rows, method = group.rows, group.method
        own = _rows(predicted, rows) if predicted is not None and method.needs_predictor else None
        draw = DRAWS[method.draws] if method.draws else None
        batch = Batch(
            logits=_rows(logits, rows),
            features=_rows(features, rows),
            labels=_rows(given.labels, rows),
            predictor_logits=own,
            draws=draw(group.sampling_keys, step, (logits.shape[1], logits.shape[2])) if draw else None,
            weights=None if given.weights is None else _rows(given.weights, rows),
            transition=group.transition,
        )
        found.append(method.loss(batch, group.hyper))
    return found[0] if len(found) == 1 else torch.cat(found)


def _rows(tensor: Tensor, rows: slice) -> Tensor:
    """These rows; all rows without a slice, whose gradient would be a copy."""
    return tensor if rows == slice(0, len(tensor)) else tensor[rows]
