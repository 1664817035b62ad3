"""What changes from epoch to epoch and from step to step: order, views, totals and losses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from noiselimit.engine.block_data import InputBatch, Part, Views, draw_views
from noiselimit.engine.metrics import EpochTotals
from noiselimit.engine.optimisers import SCHEDULES
from noiselimit.engine.results import Row
from noiselimit.methods import Batch, Method, get_method
from noiselimit.randomness import DRAWS, SAMPLERS, Stream, stream_keys
from noiselimit.runs.spec import RunSpec
from noiselimit.tasks import CLASSIFICATION, Task


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


class Epoch:
    """One pass of K rows over their m training examples. A CUDA graph uses its tensors, so they stay."""

    def __init__(self, specs: Sequence[RunSpec], part: Part, device: torch.device, step: int) -> None:
        """Allocate the tensors, after `step` steps."""
        self.specs, self.part = specs, part
        seeds = [spec.seed for spec in specs]
        self.order_keys = stream_keys(seeds, Stream.ORDER, device)
        self.augmentation_keys = stream_keys(seeds, Stream.AUGMENTATION, device)
        # int64 [K, m]: the positions in the order in which each row visits them
        self.order = torch.zeros_like(part.index)
        # [K, m]: how the picture at each place of the order is augmented
        self.views = None if specs[0].augmentation == "none" else self._draw_views(0)
        self.place = torch.zeros((), dtype=torch.int64, device=device)  # places of the order visited so far
        self.step = torch.tensor(step, device=device)  # steps taken so far
        self.totals = EpochTotals.zeros(len(specs), device, part.labels.dtype)

    def begin(self, epoch: int) -> None:
        """Draw the order and the views, and clear the totals."""
        now = torch.tensor(epoch, device=self.order.device)
        self.order.copy_(SAMPLERS[self.specs[0].sampler](self.order_keys, now, self.part.labels))
        if self.views is not None:
            self.views.copy_(self._draw_views(epoch))
        self.place.zero_()
        self.totals.clear()

    def _draw_views(self, epoch: int) -> Views:
        places = torch.arange(self.order.shape[1], device=self.order.device).expand_as(self.order)
        now = torch.tensor(epoch, device=self.order.device)
        return draw_views(self.specs[0].augmentation, self.augmentation_keys, now, places)

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
    task: Task = CLASSIFICATION,
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
            labels=_rows(given.labels if given.targets is None else given.targets, rows),
            predictor_logits=own,
            draws=draw(group.sampling_keys, step, (logits.shape[1], logits.shape[2])) if draw else None,
            weights=None if given.weights is None else _rows(given.weights, rows),
            transition=group.transition,
            task=task,
        )
        found.append(method.loss(batch, group.hyper))
    return found[0] if len(found) == 1 else torch.cat(found)


def _rows(tensor: Tensor, rows: slice) -> Tensor:
    """These rows; all rows without a slice, whose gradient would be a copy."""
    return tensor if rows == slice(0, len(tensor)) else tensor[rows]
