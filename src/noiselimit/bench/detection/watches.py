"""What the peers need to hear of a training: margins of every epoch, or held-out scores of the last ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from noiselimit.cohort.averages import is_averaged
from noiselimit.cohort.block_data import BlockData
from noiselimit.cohort.outcome import Scores
from noiselimit.spec import RunSpec


def margin(logits: Tensor, labels: Tensor) -> Tensor:
    """[...]: the assigned class's logit less the largest other one, of logits [..., C] and labels [...]."""
    own = labels.unsqueeze(-1)
    others = logits.scatter(-1, own, -torch.inf).amax(-1)
    return logits.gather(-1, own).squeeze(-1) - others


@dataclass(frozen=True, eq=False)
class Margins:
    """Of the logits that the steps compute anyway: their mean over epochs is the area under the margin."""

    labels: Tensor
    """int64 [K, m]"""
    found: Tensor
    """float32 [K, E × m]: epoch by epoch."""
    epoch: Tensor
    """int64 []: that it is, counted from 0."""

    def begin(self, epoch: int, specs: Sequence[RunSpec]) -> None:
        """The following steps are of this epoch."""
        self.epoch.fill_(epoch - 1)

    def wants_validated(self, epoch: int, specs: Sequence[RunSpec]) -> bool:
        """Nothing is held out."""
        return False

    @torch.no_grad()
    def add_trained(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Note the margins at these positions [K, B]."""
        margins = margin(logits.to(torch.float32), self.labels.gather(1, positions))
        self.found.scatter_(1, self.epoch * self.labels.shape[1] + positions, margins)

    def add_validated(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Nothing is held out."""

    def of_row(self, row: int, last: Scores) -> Tensor:
        """[E, m]"""
        return self.found[row].view(-1, self.labels.shape[1]).cpu()

    def held(self, row: int, spec: RunSpec, epoch: int) -> dict[str, Tensor]:
        """What was found of a row."""
        return {"found": self.found[row]}

    def keep(self, rows: Sequence[int]) -> "Margins":
        """These rows alone."""
        return replace(self, labels=self.labels[rows], found=self.found[rows])


def make_margins(
    specs: Sequence[RunSpec], data: BlockData, predictors: int, classes: int, device: torch.device
) -> Margins:
    """For a block that shall be watched so."""
    labels = data.train.labels
    room = torch.zeros(len(specs), specs[0].epochs * labels.shape[1], device=device)
    return Margins(labels, room, torch.zeros((), dtype=torch.int64, device=device))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The classifier's probabilities of the validation part after the last epoch, and their mean over the
    second half of the epochs, which is validated anyway."""

    found: Tensor
    """float32 [2, K, v, C]: the last ones, and sums."""
    counts: Tensor
    """float32 [K]: 1 in rows whose second half has begun, else 0."""
    times: Tensor
    """float32 [K]: epochs that were added."""

    def begin(self, epoch: int, specs: Sequence[RunSpec]) -> None:
        """The following validation is of this epoch."""
        self.counts.copy_(torch.tensor([float(is_averaged(spec, epoch)) for spec in specs]))
        self.times.add_(self.counts)

    def wants_validated(self, epoch: int, specs: Sequence[RunSpec]) -> bool:
        """In the second half of any of the runs."""
        return any(is_averaged(spec, epoch) for spec in specs)

    def add_trained(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Training steps are not heard."""

    def add_validated(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Keep and add the softmaxes at these positions [K, B]."""
        there = positions[:, :, None].expand(logits.shape)
        said = logits.softmax(-1, dtype=torch.float32)
        self.found[0].scatter_(1, there, said)
        self.found[1].scatter_add_(1, there, said * self.counts[:, None, None])

    def of_row(self, row: int, last: Scores) -> Tensor:
        """[2, v, C]: last and averaged."""
        final, added = self.found[:, row].cpu()
        return torch.stack([final, added / self.times[row].cpu()])

    def held(self, row: int, spec: RunSpec, epoch: int) -> dict[str, Tensor]:
        """What was found of a row."""
        return {"found": self.found[:, row], "times": self.times[row]}

    def keep(self, rows: Sequence[int]) -> "HeldOut":
        """These rows alone."""
        return HeldOut(self.found[:, rows], self.counts[rows], self.times[rows])


def make_held_out(
    specs: Sequence[RunSpec], data: BlockData, predictors: int, classes: int, device: torch.device
) -> HeldOut:
    """For a block that shall be watched so."""
    room = torch.zeros(2, len(specs), len(data.validation), classes, device=device)
    return HeldOut(room, torch.zeros(len(specs), device=device), torch.zeros(len(specs), device=device))
