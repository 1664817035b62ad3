"""What a method is: a pure function of one batch and its hyper-parameters, returning one loss per row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from noiselimit.tasks import CLASSIFICATION, Task
from noiselimit.tasks.classification import log_likelihood as log_likelihood
from noiselimit.tasks.classification import onehot as onehot
from noiselimit.tasks.task import Tensor as Tensor

Hyper = Mapping[str, Tensor]
"""Hyper-parameter name → [K], one value per row."""


@dataclass(frozen=True)
class Batch:
    """One batch of K rows. Everything a method may look at, and nothing else."""

    logits: Tensor
    """[K, B, C] outputs a of the classifier."""
    features: Tensor
    """[K, B, F] inputs z of the classifier's last layer."""
    labels: Tensor
    """[K, B] given labels, int64; or probabilities [K, B, C] of examples that have them (`Examples.targets`)
    and in your own loop, for CE, LIMIT-G and LIMIT-L. Of other tasks, what `Task.encode` returns."""
    predictor_logits: Tensor | None = None
    """[K, B, C] outputs r of the predictor, for methods that need one."""
    draws: Tensor | None = None
    """[K, B, C] independent zero-mean, unit-variance draws, for methods that sample."""
    weights: Tensor | None = None
    """[K, B] weight of each example, 1 on average over the training examples; None: all equal."""
    transition: Tensor | None = None
    """[K, C, C] probability of given label j for clean label i, for methods that use it."""
    task: Task = CLASSIFICATION
    """What outputs and labels mean."""

    def mean(self, values: Tensor) -> Tensor:
        """Return [K]: the weighted mean over the batch of one value per example [K, B]."""
        return (values if self.weights is None else values * self.weights).mean(-1)


@dataclass(frozen=True)
class Method:
    """A named loss and what it needs."""

    name: str
    loss: Callable[[Batch, Hyper], Tensor]
    """(batch, hyper) → [K]; the gradient of row k's loss touches row k's networks only."""
    hyper: Mapping[str, float] = field(default_factory=dict)
    """Hyper-parameters with their defaults; all are numbers ≥ 0. Each is an option of `noiselimit train`."""
    help: Mapping[str, str] = field(default_factory=dict)
    """Hyper-parameter → help text of its option. One method is enough if several share a name."""
    needs_predictor: bool = False
    draws: Literal["gaussian", "laplace"] | None = None
    """The distribution of `Batch.draws`, if the method samples."""
    starts: Literal["classifier", "predictor"] | None = None
    """The network that starts from the weights of the best CE run on the same problem, or None."""
    searches_rate: bool = False
    """Whether the learning rate is searched for this method, so that the run it starts from keeps its own."""
    transition: Callable[[Tensor], Tensor] | None = None
    """Estimates `Batch.transition` [C, C] if the user gives none, from the starting classifier's class
    probabilities [n, C] of the training examples."""
    needs_classes: bool = True
    """False if the method works for every task: it asks `batch.task` what outputs and labels mean."""
    head_bias: bool = True
    """Whether the classifier's last layer has a bias; the soft penalty is derived without one."""


def gap(logits: Tensor, labels: Tensor) -> Tensor:
    """[...] distance ‖onehot(y) − softmax(logits)‖ in [0, √2]: how much the network disagrees with the label.

    With the predictor's logits it is the distance between predicted and true logit gradient of the paper.
    """
    return CLASSIFICATION.gap(logits, labels)
