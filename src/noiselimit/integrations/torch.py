"""LIMIT for PyTorch: a classifier and its predictor as one module, and a record of every label."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from noiselimit.errors import InputError
from noiselimit.loss import LimitLoss
from noiselimit.networks.module import logits_of


class LimitOutput(NamedTuple):
    """What `Limit` returns if it is called with labels."""

    loss: Tensor
    """[]: back-propagate it. It trains both networks."""
    logits: Tensor
    """[..., C] of the classifier."""
    gap: Tensor
    """[...]: distance between each label and the predictor's probabilities, in [0, √2]; large for labels
    that are probably wrong."""
    predictor_logits: Tensor
    """[..., C]"""


class Limit(nn.Module):
    """A classifier that learns by LIMIT, with its predictor.

    Call it with `labels` in training: `output = limit(inputs, labels=labels)`, then `output.loss.backward()`.
    Without labels, it returns what the classifier returns. No label reaches the classifier except through the
    predictor. It works under `torch.compile`, autocast and `DistributedDataParallel`.

    Parameters
    ----------
    classifier : Module
        Returns logits [..., C], a tuple whose first value they are, or a dict or object with `logits`.
    predictor : Module, optional
        A second network for the same inputs and classes. By default a copy of the classifier.
    beta, distribution, sigma, ignore_index
        See `LimitLoss`.
    examples : int, optional
        Number of training examples. With it, training batches can have `rows`, the numbers of their examples
        in 0 … examples − 1, and `label_issues` returns the label errors.
    """

    def __init__(
        self,
        classifier: nn.Module,
        predictor: nn.Module | None = None,
        *,
        beta: float = 10.0,
        distribution: str = "laplace",
        sigma: float = 0.0,
        ignore_index: int = -100,
        examples: int | None = None,
    ) -> None:
        super().__init__()
        self.classifier = classifier
        self.predictor = copy.deepcopy(classifier) if predictor is None else predictor
        self.criterion = LimitLoss(beta, distribution, sigma, ignore_index=ignore_index)
        self.record = None if examples is None else LabelRecord(examples, ignore_index)
        for name, network in (("classifier", self.classifier), ("predictor", self.predictor)):
            if not isinstance(network, nn.Module):
                raise InputError(f"the {name} is {network!r}: give a torch.nn.Module.")
            if not any(parameter.requires_grad for parameter in network.parameters()):
                raise InputError(f"the {name} has no trainable parameter: set requires_grad on some.")
        if {id(p) for p in classifier.parameters()} & {id(p) for p in self.predictor.parameters()}:
            raise InputError(
                "classifier and predictor share parameters, through which labels would reach the classifier: "
                "give two networks."
            )

    def forward(
        self, *inputs: Any, labels: Tensor | None = None, rows: Tensor | None = None, **named: Any
    ) -> Any:
        """Call both networks with the inputs; see the class."""
        found = self.classifier(*inputs, **named)
        if labels is None:
            return found
        logits, predicted = logits_of(found), logits_of(self.predictor(*inputs, **named))
        if logits.shape[-1] != predicted.shape[-1]:
            raise InputError(
                f"the classifier has {logits.shape[-1]} classes and the predictor {predicted.shape[-1]}: "
                "give both the same number."
            )
        loss, gap = self.criterion(logits, labels, predicted)
        if rows is not None and self.training:
            if self.record is None:
                raise InputError("rows need the number of training examples: give examples=n.")
            update = self.record.update
            if torch.compiler.is_compiling():
                update = torch.compiler.disable(update)
            update(rows, labels, logits, predicted)
        return LimitOutput(loss, logits, gap, predicted)

    def label_issues(self) -> pd.DataFrame:
        """Label errors among the examples whose rows were given in training; see `LabelRecord`."""
        if self.record is None:
            raise InputError(
                "no rows were recorded: create Limit(..., examples=n) and pass rows in training."
            )
        return self.record.label_issues()


class LabelRecord:
    """Probabilities of every training example, averaged over training.

    They are the mean of classifier and predictor. A batch counts in proportion to the number of batches so
    far, because networks know more later. The record takes 4 bytes per example and class, is on the device of
    the logits, and is not part of the module's `state_dict`. `LimitCallback` and `LimitTrainer` save it in
    checkpoints.
    """

    def __init__(self, examples: int, ignore_index: int = -100) -> None:
        if isinstance(examples, bool) or not isinstance(examples, int | np.integer) or examples < 1:
            raise InputError(f"examples is {examples!r}: give the number of training examples.")
        self.examples = int(examples)
        self.ignore_index = ignore_index
        self.batches = 0
        self.sums: Tensor | None = None  # [n, C]
        self.weights: Tensor
        self.labels: Tensor

    @torch.no_grad()
    def update(self, rows: Tensor, labels: Tensor, logits: Tensor, predictor_logits: Tensor) -> None:
        """Add a batch: rows [B], labels [B] or [B, C], and logits [B, C] of both networks."""
        whole = isinstance(rows, Tensor) and rows.dtype in (torch.int64, torch.int32)
        if not whole or logits.dim() != 2 or rows.shape != logits.shape[:1]:
            found = f"shape {list(rows.shape)}" if whole else f"type {getattr(rows, 'dtype', type(rows))}"
            raise InputError(
                f"rows have {found} and logits have shape {list(logits.shape)}: give a tensor with one whole "
                "number per example."
            )
        if rows.device.type == "cpu" and not bool(((rows >= 0) & (rows < self.examples)).all()):
            wrong = int(rows[(rows < 0) | (rows >= self.examples)][0])
            raise InputError(f"row {wrong} is not in 0 … {self.examples - 1}: number the training examples.")
        device = logits.device
        if self.sums is None:
            self.sums = torch.zeros(self.examples, logits.shape[1], device=device)
            self.weights = torch.zeros(self.examples, device=device)
            self.labels = torch.full((self.examples,), -1, device=device)
        elif self.sums.device != device:  # loaded from a checkpoint
            self.sums, self.weights = self.sums.to(device), self.weights.to(device)
            self.labels = self.labels.to(device)
        self.batches += 1
        rows = rows.to(device)
        # Over the first dimension, because torch's softmax over a short last one is slow.
        mean = (logits.float().T.softmax(0) + predictor_logits.float().T.softmax(0)).T / 2
        self.sums.index_add_(0, rows, mean, alpha=self.batches)
        self.weights.index_add_(0, rows, torch.full_like(rows, self.batches, dtype=torch.float32))
        if labels.is_floating_point():
            labels = labels.argmax(-1)
        self.labels[rows] = torch.where(labels == self.ignore_index, -1, labels).to(device)

    def label_issues(self) -> pd.DataFrame:
        """Label errors among the examples seen, as `find_label_issues` returns them; `row` numbers them.

        In a process group, every process must call it; each gets the result of all.
        """
        from noiselimit.audit.find import find_label_issues

        sums, weights, labels = self._of_all_processes()
        seen = ((weights > 0) & (labels >= 0)).cpu().numpy()
        probabilities = (sums / weights.clamp(min=1.0)[:, None]).cpu().numpy()[seen]
        rows = np.flatnonzero(seen)
        if len(lost := rows[np.isnan(probabilities).any(1)]):
            raise InputError(f"the networks returned NaN for row {lost[0]}: use a lower learning rate.")
        table = find_label_issues(labels=labels.cpu().numpy()[seen], pred_probs=probabilities)
        return table.assign(row=rows)

    def state_dict(self) -> dict[str, Tensor]:
        """The record of all processes, for a checkpoint; every process must call it."""
        if self.sums is None:
            return {}
        sums, weights, labels = self._of_all_processes()
        return {"sums": sums, "weights": weights, "labels": labels, "batches": torch.tensor(self.batches)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a `state_dict`. One process takes it, because those of all are added."""
        if not state:
            return
        if len(state["labels"]) != self.examples:
            raise InputError(
                f"the checkpoint has a record of {len(state['labels'])} training examples, and there are "
                f"{self.examples}: resume with the same data."
            )
        self.batches = int(state["batches"])
        self.sums, self.weights, self.labels = (state[name].clone() for name in ("sums", "weights", "labels"))
        if _is_distributed() and torch.distributed.get_rank() > 0:
            self.sums.zero_()
            self.weights.zero_()

    def _of_all_processes(self) -> tuple[Tensor, Tensor, Tensor]:
        """Copies of sums, weights and labels, over all processes."""
        if self.sums is None:
            raise InputError("no rows were recorded: pass rows in training.")
        sums, weights, labels = self.sums.clone(), self.weights.clone(), self.labels.clone()
        if _is_distributed():
            # An example that several processes saw, to fill up a batch, counts with all its weights.
            torch.distributed.all_reduce(sums)
            torch.distributed.all_reduce(weights)
            torch.distributed.all_reduce(labels, torch.distributed.ReduceOp.MAX)
        return sums, weights, labels


def _is_distributed() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()
