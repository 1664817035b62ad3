"""The data of a block on its device: inputs once for all rows, indices and labels for each row.

Random flips and crops are drawn for each position in the epoch's order from the run's own random stream, so a
run sees the same pictures alone and in a cohort, in memory and streamed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad

from noiselimit.data.arrays import PADDING, LazyInputs, Rows, View
from noiselimit.data.examples import DataSet, Examples
from noiselimit.engine.backend import PRECISIONS, Backend
from noiselimit.engine.distributed import Processes
from noiselimit.engine.preparation import truest_labels
from noiselimit.engine.results import Row
from noiselimit.engine.stream import PictureStream, Request
from noiselimit.randomness import words_at
from noiselimit.tasks import Task

EVALUATION_BATCH = 1000
EVALUATION_VALUES = 2**23  # in the inputs of a batch: fewer large pictures
EVALUATED_ON_GPU = 2**14  # examples of all rows at a time, enough to fill a GPU

DeviceInputs = Mapping[str, Tensor | PictureStream]
"""The inputs of a data set's parts: 'examples' and, if they exist, 'validation' and 'test'."""


class Views(NamedTuple):
    """`noiselimit.data.arrays.View` for [K, B] pictures."""

    flip: Tensor  # bool
    down: Tensor  # float32 in [0, 1)
    across: Tensor  # float32 in [0, 1)

    def at(self, positions: Tensor) -> "Views":
        """The columns at positions [B]."""
        return Views(*(values.index_select(1, positions) for values in self))

    def part(self, columns: slice) -> "Views":
        """These columns."""
        return Views(*(values[:, columns] for values in self))

    def copy_(self, other: "Views") -> None:
        """Copy the other's values into these tensors."""
        for own, values in zip(self, other, strict=True):
            own.copy_(values)

    def first_row(self, start: int, stop: int) -> list[View]:
        """The columns start … stop of the first row."""
        columns = (each[0, start:stop].tolist() for each in self)
        return [View(*values) for values in zip(*columns, strict=True)]


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


def evaluation_batch(input_shape: Sequence[int], most: int = EVALUATION_BATCH) -> int:
    """How many examples to evaluate at a time; the activations of large pictures are larger still."""
    return max(1, min(most, EVALUATION_VALUES // math.prod(input_shape)))


@dataclass(frozen=True, eq=False)
class Part:
    """Training, validation or test examples, the same number m in each of K rows."""

    inputs: Tensor | PictureStream
    """[n, ...] as read, shared by all rows; or pictures that are streamed from files."""
    index: Tensor  # int64 [K, m]: which inputs each row uses
    labels: Tensor  # int64 [K, m]; of other tasks float32, of multi-label [K, m, C]
    weights: Tensor | None = None  # float32 [K, m]: weights in training, 1 on average; None: all 1
    targets: Tensor | None = None  # float32 [n, C], shared by all rows: what to learn instead of the labels
    wrong: Tensor | None = None  # bool [K, m]: which labels are wrong, if known; for metrics only

    def __len__(self) -> int:
        return self.index.shape[1]

    @property
    def in_file(self) -> bool:
        """Whether the inputs are vectors that are read from a file."""
        return isinstance(self.inputs, PictureStream) and isinstance(self.inputs.inputs, Rows)

    def first(self, count: int) -> "Part":
        """The first examples, without what only training needs."""
        return Part(self.inputs, self.index[:, :count], self.labels[:, :count])

    def of_rows(self, rows: Sequence[int]) -> "Part":
        """The part of these rows."""
        weights = None if self.weights is None else self.weights[rows]
        wrong = None if self.wrong is None else self.wrong[rows]
        return replace(self, index=self.index[rows], labels=self.labels[rows], weights=weights, wrong=wrong)


@dataclass(frozen=True, eq=False)
class InputBatch:
    """The data of one step."""

    inputs: Tensor  # [K, B, ...], standardised; only this process's part of the batch, if there are several
    labels: Tensor  # int64 [K, B], or float32
    weights: Tensor | None  # float32 [K, B]
    targets: Tensor | None  # float32 [K, B, C]
    wrong: Tensor | None  # bool [K, B]
    positions: Tensor  # int64 [K, B]: positions of the examples in their part

    def __len__(self) -> int:
        return self.positions.shape[1]


@dataclass(frozen=True, eq=False)
class BlockData:
    """All data of K rows."""

    train: Part
    validation: Part
    selection: Part
    """Selects the best epoch: the validation examples, or examples with clean labels."""
    test: Part | None
    mean: Tensor
    std: Tensor
    """[K, 1, ...] of each row's training inputs."""
    kernels: bool  # whether our kernel makes batches of pictures
    dtype: torch.dtype  # the type in which it makes them; torch's operations make float32
    task: Task  # what outputs and labels mean
    cohort: int  # rows of the whole cohort, from which the size of evaluation batches follows
    processes: Processes

    def of_rows(self, rows: Sequence[int]) -> "BlockData":
        """The data of these rows."""
        return replace(
            self,
            train=self.train.of_rows(rows),
            validation=self.validation.of_rows(rows),
            selection=self.selection.of_rows(rows),
            test=self.test.of_rows(rows) if self.test else None,
            mean=self.mean[rows],
            std=self.std[rows],
        )

    def batch(self, part: Part, positions: Tensor, views: Views | None = None) -> InputBatch:
        """The examples at positions [K, B] of a part in memory; `views` [K, B] augment them."""
        assert isinstance(part.inputs, Tensor)
        own = self.processes.part(positions.shape[1])
        chosen = part.index.gather(1, positions[:, own])
        views = views and views.part(own)
        if self.kernels and part.inputs.dim() == 4:
            from noiselimit.engine.kernels.pictures import make_pictures

            mean, std = self.mean.flatten(1), self.std.flatten(1)
            made = make_pictures(part.inputs, chosen, mean, std, self.dtype, views, PADDING)
            return _batch(part, made, positions)
        inputs = part.inputs[chosen]
        return _batch(part, self._standardised(inputs if views is None else cut(inputs, views)), positions)

    def streamed(
        self, part: Part, order: Tensor, bounds: Sequence[tuple[int, int]], views: Views | None = None
    ) -> Iterator[InputBatch]:
        """The batches (start, stop) of a streamed part in the order [K, m].

        One decoded batch serves all rows: rows of streamed data share seed, split and order.
        """
        assert isinstance(part.inputs, PictureStream)
        examples = part.index[0][order[0]]

        def request(start: int, stop: int) -> Request:
            part = self.processes.part(stop - start)
            start, stop = start + part.start, start + part.stop
            own = [View()] * (stop - start) if views is None else views.first_row(start, stop)
            return list(zip(examples[start:stop].tolist(), own, strict=True))

        requests = (request(start, stop) for start, stop in bounds)
        for (start, stop), pictures in zip(bounds, part.inputs.batches(requests), strict=True):
            if self.mean.device.type == "cuda":
                pictures = pictures.pin_memory()  # so that the copy overlaps with the arithmetic
            there = pictures.to(self.mean.device, non_blocking=True)
            inputs = self._standardised(there.expand(len(self.mean), *there.shape))
            yield _batch(part, inputs, order[:, start:stop])

    def batches(self, part: Part) -> Iterator[InputBatch]:
        """All batches of a part in its own order, for evaluation."""
        everything = torch.arange(len(part), device=part.index.device).expand(len(part.index), -1)
        inputs = part.inputs.inputs if isinstance(part.inputs, PictureStream) else part.inputs
        most = EVALUATION_BATCH
        if part.index.device.type == "cuda":
            most = max(most, EVALUATED_ON_GPU // self.cohort)
        size = evaluation_batch(inputs.shape[1:], most)
        bounds = [(start, min(start + size, len(part))) for start in range(0, len(part), size)]
        if isinstance(part.inputs, PictureStream):
            yield from self.streamed(part, everything, bounds)
        else:
            for start, stop in bounds:
                yield self.batch(part, everything[:, start:stop])

    def _standardised(self, inputs: Tensor) -> Tensor:
        return (inputs.to(torch.float32) - self.mean) / self.std


def _batch(part: Part, inputs: Tensor, positions: Tensor) -> InputBatch:
    return InputBatch(
        inputs,
        part.labels.gather(1, positions)
        if part.labels.dim() == 2
        else part.labels.take_along_dim(positions[..., None], 1),
        None if part.weights is None else part.weights.gather(1, positions),
        None if part.targets is None else part.targets[part.index.gather(1, positions)],
        None if part.wrong is None else part.wrong.gather(1, positions),
        positions,
    )


def device_inputs(data: DataSet, device: torch.device) -> DeviceInputs:
    """Copy the inputs of the data set to the device, in the type they were read in."""
    parts = {"examples": data.examples, "validation": data.validation, "test": data.test}
    return {
        name: PictureStream(part.inputs)
        if isinstance(part.inputs, LazyInputs)
        else torch.from_numpy(np.require(part.inputs, requirements=["C", "W"])).to(device)
        for name, part in parts.items()
        if part
    }


def block_data(
    rows: Sequence[Row],
    data: DataSet,
    inputs: DeviceInputs,
    backend: Backend,
    cohort: int = 1,
) -> BlockData:
    """Stack indices, labels, weights and statistics of these rows, which are some of a cohort."""
    first, runs, task = rows[0].spec, [row.prepared for row in rows], data.examples.task

    def stack(arrays: Sequence[npt.NDArray[Any]]) -> Tensor:
        return torch.from_numpy(np.stack(arrays)).to(backend.device)

    def split_part(index: Sequence[npt.NDArray[np.int64]], labels: Sequence[npt.NDArray[np.int64]]) -> Part:
        own = [task.encode(of_run[chosen]) for of_run, chosen in zip(labels, index, strict=True)]
        return Part(inputs["examples"], stack(index), stack(own))

    def official_part(name: str, examples: Examples) -> Part:
        everything, labels = np.arange(len(examples)), task.encode(truest_labels(examples))
        return Part(inputs[name], stack([everything] * len(runs)), stack([labels] * len(runs)))

    given = [run.examples.labels for run in runs]
    true = [truest_labels(run.examples) for run in runs]
    weights = [run.weights for run in runs if run.weights is not None]
    wrong = [
        np.zeros(len(run.split.train), np.bool_)
        if run.examples.wrong is None
        else run.examples.wrong[run.split.train]
        for run in runs
    ]
    train = split_part([run.split.train for run in runs], given)
    held_out = [run.split.validation for run in runs]
    validation = selection = split_part(held_out, given)
    clean = first.validation_labels == "clean"
    if clean and data.validation:
        selection = official_part("validation", data.validation)
    elif clean:
        selection = split_part(held_out, true)
    test: Part | None = None
    if data.test:
        test = official_part("test", data.test)
    elif len(runs[0].split.test):
        test = split_part([run.split.test for run in runs], true)
    targets = data.examples.targets
    return BlockData(
        train=replace(
            train,
            weights=stack(weights) if weights else None,
            targets=None if targets is None else torch.from_numpy(targets).to(backend.device),
            wrong=stack(wrong),
        ),
        validation=validation,
        selection=selection,
        test=test,
        mean=stack([run.mean for run in runs]).unsqueeze(1),
        std=stack([run.std for run in runs]).unsqueeze(1),
        kernels=backend.kernels,
        dtype=PRECISIONS[first.precision],
        task=task,
        cohort=cohort,
        processes=backend.processes,
    )
