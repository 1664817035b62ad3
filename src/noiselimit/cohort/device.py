"""The data of a block of rows, where the arithmetic is: inputs once, and indices and labels per row."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from noiselimit.cohort.prepare import PreparedRun, truest_labels
from noiselimit.data.examples import Examples
from noiselimit.errors import InputError, unknown

EVALUATION_BATCH = 1000


@dataclass(frozen=True, eq=False)
class Part:
    """Examples of one purpose, the same number in every row."""

    inputs: Tensor
    """[n, ...] as they were read, shared by all rows."""
    index: Tensor
    """int64 [K, m]: which inputs each row uses."""
    labels: Tensor
    """int64 [K, m]: the given labels of those."""

    def __len__(self) -> int:
        return self.index.shape[1]

    def keep(self, rows: Sequence[int]) -> "Part":
        """The part without the other rows."""
        return Part(self.inputs, self.index[rows], self.labels[rows])


@dataclass(frozen=True, eq=False)
class BlockData:
    """Everything K rows learn from and are measured on."""

    train: Part
    validation: Part
    test: Part | None
    mean: Tensor
    std: Tensor
    """[K, 1, ...] of each row's training inputs."""

    def batch(self, part: Part, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Standardised inputs [K, B, ...] and labels [K, B] at these positions [K, B] of the part."""
        inputs = part.inputs[part.index.gather(1, positions)]
        return (inputs.to(torch.float32) - self.mean) / self.std, part.labels.gather(1, positions)

    def batches(self, part: Part) -> Iterator[tuple[Tensor, Tensor]]:
        """The whole part in order, in pieces."""
        for start in range(0, len(part), EVALUATION_BATCH):
            stop = min(start + EVALUATION_BATCH, len(part))
            positions = torch.arange(start, stop, device=part.index.device)
            yield self.batch(part, positions.expand(len(part.index), -1))

    def keep(self, rows: Sequence[int]) -> "BlockData":
        """The data without the other rows."""
        return BlockData(
            self.train.keep(rows),
            self.validation.keep(rows),
            self.test.keep(rows) if self.test else None,
            self.mean[rows],
            self.std[rows],
        )


def block_data(
    runs: Sequence[PreparedRun],
    inputs: Tensor,
    test: Examples | None,
    test_inputs: Tensor | None,
) -> BlockData:
    """Put indices, labels and statistics of these runs beside `inputs`, which hold all examples."""
    device = inputs.device

    def stack(arrays: Sequence[npt.NDArray[Any]]) -> Tensor:
        return torch.from_numpy(np.stack(arrays)).to(device)

    def part(rows: Sequence[npt.NDArray[np.int64]]) -> Part:
        labels = [run.examples.labels[row] for run, row in zip(runs, rows, strict=True)]
        return Part(inputs, stack(rows), stack(labels))

    tested: Part | None = None
    if test is not None and test_inputs is not None:
        everything, labels = np.arange(len(test)), truest_labels(test)
        tested = Part(test_inputs, stack([everything] * len(runs)), stack([labels] * len(runs)))
    elif len(runs[0].split.test):
        held_out = [truest_labels(run.examples)[run.split.test] for run in runs]
        tested = Part(inputs, stack([run.split.test for run in runs]), stack(held_out))
    return BlockData(
        train=part([run.split.train for run in runs]),
        validation=part([run.split.validation for run in runs]),
        test=tested,
        mean=stack([run.mean for run in runs]).unsqueeze(1),
        std=stack([run.std for run in runs]).unsqueeze(1),
    )


def to_device(examples: Examples, device: torch.device) -> Tensor:
    """The inputs [n, ...] on the device, in the type they were read in."""
    inputs = np.ascontiguousarray(examples.inputs)
    return torch.from_numpy(inputs if inputs.flags.writeable else inputs.copy()).to(device)


def find_device(name: str) -> torch.device:
    """'auto', 'cpu' or 'cuda' (or 'cuda:1') → the device, or a sentence when it is not there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise unknown("device", name, ("auto", "cpu", "cuda"))
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InputError("device 'cuda' was asked for, but torch sees no GPU here: use --device cpu.")
    device = torch.device(name)
    count = torch.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise InputError(f"device '{name}' was asked for, but there are {count} GPUs: count them from 0.")
    return device


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
