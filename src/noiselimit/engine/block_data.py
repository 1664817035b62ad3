"""The data of a block of rows, where the arithmetic is: inputs once, and indices and labels per row."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from noiselimit.data.arrays import PADDING, LazyInputs, View
from noiselimit.data.examples import DataSet, Examples
from noiselimit.engine.augmentation import Views, cut
from noiselimit.engine.preparation import PreparedRun, truest_labels
from noiselimit.engine.stream import PictureStream

EVALUATION_BATCH = 1000
EVALUATION_VALUES = 2**23  # in the inputs of a batch: of large pictures it holds fewer
EVALUATED_ON_GPU = 2**14  # examples of all rows at a time: enough to fill it, and several rows beside


def evaluation_batch(input_shape: Sequence[int], most: int = EVALUATION_BATCH) -> int:
    """How many examples are evaluated at a time: what a network makes of large pictures is larger still."""
    return max(1, min(most, EVALUATION_VALUES // math.prod(input_shape)))


Bounds = Sequence[tuple[int, int]]
"""(start, stop) of every batch."""


@dataclass(frozen=True, eq=False)
class Part:
    """Examples of one purpose, the same number in every row."""

    inputs: Tensor | PictureStream
    """[n, ...] as they were read, shared by all rows; or pictures that come from files when asked for."""
    index: Tensor
    """int64 [K, m]: which inputs each row uses."""
    labels: Tensor
    """int64 [K, m]: the given labels of those."""
    weights: Tensor | None = None
    """float32 [K, m]: how much those count in training, 1 on average; None: all alike."""
    wrong: Tensor | None = None
    """bool [K, m]: which of those labels are wrong, where that is known; to measure, not to train."""

    def __len__(self) -> int:
        return self.index.shape[1]

    def keep(self, rows: Sequence[int]) -> "Part":
        """The part without the other rows."""
        weights = None if self.weights is None else self.weights[rows]
        wrong = None if self.wrong is None else self.wrong[rows]
        return Part(self.inputs, self.index[rows], self.labels[rows], weights, wrong)


@dataclass(frozen=True, eq=False)
class InputBatch:
    """What one step takes from the data."""

    inputs: Tensor
    """[K, B, ...], standardised: float32, or what the networks compute in."""
    labels: Tensor
    """int64 [K, B]."""
    weights: Tensor | None
    """float32 [K, B] or None."""
    wrong: Tensor | None
    """bool [K, B] or None."""
    positions: Tensor
    """int64 [K, B]: which examples of the part these are."""


@dataclass(frozen=True, eq=False)
class BlockData:
    """Everything K rows learn from and are measured on."""

    train: Part
    validation: Part
    selection: Part
    """What chooses the epoch: the validation examples, or such with clean labels where the spec says so."""
    test: Part | None
    mean: Tensor
    std: Tensor
    """[K, 1, ...] of each row's training inputs."""
    kernels: bool = False
    """Whether our own kernel makes batches of pictures, else torch's operations do."""
    dtype: torch.dtype = torch.float32
    """What it makes them as; torch's make float32."""
    evaluated_rows: int = 1
    """Rows that the pieces of an evaluation are cut for on a GPU: all of the cohort, so that some of them
    never need more than their share of what all need."""

    @property
    def selects_by_validation(self) -> bool:
        """Whether the validation examples choose the epoch, by whatever labels, and not a part of its own."""
        return self.selection.inputs is self.validation.inputs

    def select(self, part: Part, positions: Tensor, views: Views | None = None) -> InputBatch:
        """The examples at these positions [K, B] of a part that is in memory; `views` [K, B] augment them."""
        assert isinstance(part.inputs, Tensor)
        chosen = part.index.gather(1, positions)
        if self.kernels and part.inputs.dim() == 4:
            return self._batch(part, self._made_pictures(part.inputs, chosen, views), positions)
        pictures = part.inputs[chosen]
        return self._batch(
            part, self._standardised(pictures if views is None else cut(pictures, views)), positions
        )

    def _made_pictures(self, pictures: Tensor, chosen: Tensor, views: Views | None) -> Tensor:
        from noiselimit.engine.kernels.pictures import make_pictures

        drawn = None if views is None else (views.flip, views.down, views.across)
        mean, std = (values.flatten(1) for values in (self.mean, self.std))
        return make_pictures(pictures, chosen, mean, std, self.dtype, drawn, PADDING)

    def _standardised(self, inputs: Tensor) -> Tensor:
        return (inputs.to(torch.float32) - self.mean) / self.std

    def streamed(
        self, part: Part, order: Tensor, bounds: Bounds, views: Views | None = None
    ) -> Iterator[InputBatch]:
        """A part whose pictures come from files, in this order [K, m] of its positions, cut at the bounds.

        One decoded batch serves all rows: rows of a block of streamed data share seed, split and order.
        """
        assert isinstance(part.inputs, PictureStream)
        examples = part.index.gather(1, order)[0].tolist()
        requests = (
            list(
                zip(
                    examples[start:stop],
                    [View()] * (stop - start) if views is None else views.between(start, stop).of_row(0),
                    strict=True,
                )
            )
            for start, stop in bounds
        )
        for (start, stop), pictures in zip(bounds, part.inputs.batches(requests), strict=True):
            if self.mean.device.type == "cuda":
                pictures = pictures.pin_memory()  # from there a GPU fetches them while it computes
            there = pictures.to(self.mean.device, non_blocking=True)
            everybody = there.expand(len(self.mean), *there.shape)
            yield self._batch(part, self._standardised(everybody), order[:, start:stop])

    def _batch(self, part: Part, inputs: Tensor, positions: Tensor) -> InputBatch:
        return InputBatch(
            inputs,
            part.labels.gather(1, positions),
            None if part.weights is None else part.weights.gather(1, positions),
            None if part.wrong is None else part.wrong.gather(1, positions),
            positions,
        )

    def whole(self, part: Part) -> Iterator[InputBatch]:
        """The whole part in its own order, in pieces."""
        everything = torch.arange(len(part), device=part.index.device).expand(len(part.index), -1)
        inputs = part.inputs.inputs if isinstance(part.inputs, PictureStream) else part.inputs
        on_gpu, rows = part.index.device.type == "cuda", self.evaluated_rows
        size = evaluation_batch(
            inputs.shape[1:],
            max(EVALUATION_BATCH, EVALUATED_ON_GPU // rows) if on_gpu else EVALUATION_BATCH,
        )
        bounds = [(start, min(start + size, len(part))) for start in range(0, len(part), size)]
        if isinstance(part.inputs, PictureStream):
            yield from self.streamed(part, everything, bounds)
        else:
            for start, stop in bounds:
                yield self.select(part, everything[:, start:stop])

    def keep(self, rows: Sequence[int]) -> "BlockData":
        """The data without the other rows."""
        return replace(
            self,
            train=self.train.keep(rows),
            validation=self.validation.keep(rows),
            selection=self.selection.keep(rows),
            test=self.test.keep(rows) if self.test else None,
            mean=self.mean[rows],
            std=self.std[rows],
        )


@dataclass(frozen=True, eq=False)
class DeviceInputs:
    """The inputs of a data set's parts on the device, for all blocks."""

    examples: Tensor | PictureStream
    validation: Tensor | PictureStream | None
    test: Tensor | PictureStream | None

    @classmethod
    def of(cls, data: DataSet, device: torch.device) -> "DeviceInputs":
        parts = (data.examples, data.validation, data.test)
        return cls(*(to_device(part, device) if part else None for part in parts))  # type: ignore[arg-type]


def block_data(
    runs: Sequence[PreparedRun],
    data: DataSet,
    on_device: DeviceInputs,
    device: torch.device,
    *,
    clean_validation: bool = False,
    cohort: int = 1,
) -> BlockData:
    """Put indices, labels, weights and statistics of these runs beside the inputs, which all blocks share.

    They are some of a `cohort` of so many.
    """
    inputs = on_device.examples

    def stack(arrays: Sequence[npt.NDArray[Any]]) -> Tensor:
        return torch.from_numpy(np.stack(arrays)).to(device)

    def part(rows: Sequence[npt.NDArray[np.int64]], *, training: bool = False) -> Part:
        labels = [run.examples.labels[row] for run, row in zip(runs, rows, strict=True)]
        if not training:
            return Part(inputs, stack(rows), stack(labels))
        weights = [run.weights for run in runs if run.weights is not None]
        wrong = [
            run.examples.wrong[row] if run.examples.wrong is not None else np.zeros(len(row), np.bool_)
            for run, row in zip(runs, rows, strict=True)
        ]
        return Part(inputs, stack(rows), stack(labels), stack(weights) if weights else None, stack(wrong))

    def official(examples: Examples, inputs: Tensor | PictureStream) -> Part:
        everything, labels = np.arange(len(examples)), truest_labels(examples)
        return Part(inputs, stack([everything] * len(runs)), stack([labels] * len(runs)))

    def clean(rows: Sequence[npt.NDArray[np.int64]]) -> Part:
        labels = [truest_labels(run.examples)[row] for run, row in zip(runs, rows, strict=True)]
        return Part(inputs, stack(rows), stack(labels))

    tested: Part | None = None
    if data.test is not None and on_device.test is not None:
        tested = official(data.test, on_device.test)
    elif len(runs[0].split.test):
        tested = clean([run.split.test for run in runs])
    held_out = [run.split.validation for run in runs]
    validation = selection = part(held_out)
    if clean_validation and data.validation is not None and on_device.validation is not None:
        selection = official(data.validation, on_device.validation)
    elif clean_validation:
        selection = clean(held_out)
    return BlockData(
        train=part([run.split.train for run in runs], training=True),
        validation=validation,
        selection=selection,
        test=tested,
        mean=stack([run.mean for run in runs]).unsqueeze(1),
        std=stack([run.std for run in runs]).unsqueeze(1),
        evaluated_rows=cohort,
    )


def to_device(examples: Examples, device: torch.device) -> Tensor | PictureStream:
    """The inputs [n, ...] on the device, in the type they were read in; or a stream of those too many."""
    if isinstance(examples.inputs, LazyInputs):
        return PictureStream(examples.inputs)
    inputs = np.ascontiguousarray(examples.inputs)
    return torch.from_numpy(inputs if inputs.flags.writeable else inputs.copy()).to(device)
