"""The losses of a block's rows: each method computes those of its own rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from noiselimit.draws import DRAWS, SAMPLERS, stream_keys
from noiselimit.engine.augmentation import AUGMENTATIONS, Views, draw_views
from noiselimit.engine.block_data import InputBatch, Part
from noiselimit.engine.metrics import EpochTotals
from noiselimit.engine.optimisers import SCHEDULES, Rates
from noiselimit.methods import Batch, Method, get_method
from noiselimit.randomness import Stream
from noiselimit.runs.spec import RunSpec


def batch_bounds(count: int, size: int) -> list[tuple[int, int]]:
    """(start, stop) of every batch; the last may be shorter, and nobody is left out or seen twice.

    A last batch of a single example joins the one before it: batch-norm has no variance of one value.
    """
    starts = list(range(0, count, size))
    if count % size == 1 and len(starts) > 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], count], strict=True))


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


@dataclass(frozen=True)
class MethodRows:
    """Neighbouring rows of one method."""

    method: Method
    rows: slice
    hyper: Mapping[str, Tensor]
    sampling_keys: Tensor
    transition: Tensor | None


def method_rows(
    specs: Sequence[RunSpec], transitions: Sequence[Tensor | None], device: torch.device
) -> list[MethodRows]:
    """The rows method by method; those of one method are neighbours."""
    groups = []
    methods = [spec.method for spec in specs]
    for name in dict.fromkeys(methods):
        rows = slice(methods.index(name), methods.index(name) + methods.count(name))
        members, method = specs[rows], get_method(name)
        hyper = {
            h: torch.tensor([spec.hyper[h] for spec in members], dtype=torch.float32, device=device)
            for h in method.hyper
        }
        keys = stream_keys([spec.seed for spec in members], Stream.SAMPLING, device)
        matrices = [matrix for matrix in transitions[rows] if matrix is not None]
        groups.append(MethodRows(method, rows, hyper, keys, torch.stack(matrices) if matrices else None))
    return groups


def losses(
    groups: Sequence[MethodRows],
    given: InputBatch,
    logits: Tensor,
    features: Tensor,
    predicted: Tensor | None,
    step: Tensor,
) -> Tensor:
    """[K] of logits [K, B, C], features [K, B, F] and predictor logits [P, B, C], at this step []."""
    found = []
    for group in groups:
        rows, method = group.rows, group.method
        own_predicted = None
        if predicted is not None and method.needs_predictor:
            own_predicted = _part(predicted, rows)
        draw = DRAWS[method.draws] if method.draws else None
        batch = Batch(
            logits=_part(logits, rows),
            features=_part(features, rows),
            labels=_part(given.labels, rows),
            predictor_logits=own_predicted,
            draws=draw(group.sampling_keys, step, (logits.shape[1], logits.shape[2])) if draw else None,
            weights=None if given.weights is None else _part(given.weights, rows),
            transition=group.transition,
            step=step,
        )
        found.append(method.loss(batch, group.hyper))
    return found[0] if len(found) == 1 else torch.cat(found)


def _part(tensor: Tensor, rows: slice) -> Tensor:
    """These rows; all of them without a slice, whose gradient would be a copy."""
    return tensor if rows == slice(0, len(tensor)) else tensor[rows]
