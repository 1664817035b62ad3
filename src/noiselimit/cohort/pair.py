"""The two networks of every row: all rows have a classifier, the first P of them a predictor too."""

from collections.abc import Sequence

import torch
from torch import Tensor

from noiselimit.cohort.rows import NetworkRows, State
from noiselimit.optimisers import Rates


class NetworkPair:
    """Classifiers of K rows and predictors of the first P, those whose method needs one; P may be 0.

    That predictors stand first is known here alone: everybody else counts rows of the whole block.
    """

    def __init__(self, classifier: NetworkRows, predictor: NetworkRows | None) -> None:
        self.classifier = classifier
        self.predictor = predictor

    @property
    def predictors(self) -> int:
        """P."""
        return len(self.predictor) if self.predictor else 0

    def train(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """[K, B, ...] → classifier logits [K, B, C], features [K, B, F], predictor logits [P, B, C]."""
        logits, features = self.classifier.train(inputs)
        predicted = self.predictor.train(inputs[: self.predictors])[0] if self.predictor else None
        return logits, features, predicted

    def update(self, losses: Tensor, rates: Rates) -> None:
        """Descend the losses [K]. Their sum's gradient holds each row's own: rows share no weight."""
        networks = [self.classifier, *([self.predictor] if self.predictor else [])]
        leaves = [tensor for network in networks for tensor in network.parameters.values()]
        gradients = iter(torch.autograd.grad(losses.sum(), leaves, allow_unused=True, materialize_grads=True))
        for network in networks:
            network.update([next(gradients) for _ in network.parameters], rates.between(0, len(network)))

    def finite(self) -> Tensor:
        """bool [K]: whether all weights of the row are finite."""
        finite = self.classifier.finite()
        if self.predictor:
            finite[: self.predictors] &= self.predictor.finite()
        return finite

    def remember(self, rows: Sequence[int]) -> None:
        """The current weights of these rows become their best ones."""
        self.classifier.remember(rows)
        if self.predictor:
            self.predictor.remember(self._with_predictor(rows))

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows; `rows` are in ascending order, so that predictors still stand first."""
        with_predictor = self._with_predictor(rows)
        self.classifier.keep(rows)
        if self.predictor:
            self.predictor.keep(with_predictor)
            self.predictor = self.predictor if with_predictor else None

    def probabilities(
        self, inputs: Tensor, rows: Sequence[int], *, best: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Inputs [k, B, ...] of these rows → softmax of classifiers [k, B, C] and of predictors [p, B, C].

        In evaluation mode, with the best or the current weights; None when none of the rows has a predictor.
        """
        said = self.classifier.logits(inputs, rows, best=best).softmax(-1)
        with_predictor = self._with_predictor(rows)
        if not self.predictor or not with_predictor:
            return said, None
        predicted = self.predictor.logits(inputs[: len(with_predictor)], with_predictor, best=best)
        return said, predicted.softmax(-1)

    def best_states(self, row: int) -> tuple[State, State | None]:
        """Ordinary state dicts of the row's classifier and, if it has one, predictor."""
        predictor = self.predictor.best_state(row) if self.predictor and row < self.predictors else None
        return self.classifier.best_state(row), predictor

    def _with_predictor(self, rows: Sequence[int]) -> list[int]:
        return [row for row in rows if row < self.predictors]
