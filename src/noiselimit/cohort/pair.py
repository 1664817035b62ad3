"""The two networks of every row: all rows have a classifier, the first P of them a predictor too."""

from collections.abc import Sequence

import torch
from torch import Tensor

from noiselimit.cohort.rows import NetworkRows, State
from noiselimit.optimisers import Rates


class NetworkPair:
    """Classifiers of K rows and predictors of the first P, those whose method needs one; P may be 0.

    Where both are built alike they are one stack of K + P networks, so that one launch serves both. That, and
    that predictors stand first, is known here alone: everybody else counts rows of the whole block.
    """

    def __init__(self, stacks: Sequence[NetworkRows], classifiers: int, predictors: int) -> None:
        """`stacks`: one with the classifiers and then the predictors, or one of each."""
        assert [len(stack) for stack in stacks] in ([classifiers + predictors], [classifiers, predictors])
        self.stacks = list(stacks)
        self.classifiers = classifiers
        self.predictors = predictors
        """K and P."""
        self._trained_on: Tensor | None = None

    @property
    def _joint(self) -> bool:
        return len(self.stacks) == 1

    @property
    def drops_units(self) -> bool:
        """Whether training switches units of the classifiers off: of all or of none, built alike."""
        return self.stacks[0].drops_units

    def train(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """[K, B, ...] → classifier logits [K, B, C], features [K, B, F], predictor logits [P, B, C]."""
        if not self.predictors:
            return *self.stacks[0].train(inputs), None
        predictors = inputs[: self.predictors]
        if self._joint:
            # Kept until gradients are there: streams side by side read it, of which its memory knows nothing.
            self._trained_on = torch.cat([inputs, predictors])
            logits, features = self.stacks[0].train(self._trained_on)
            said, predicted = torch.split(logits, [self.classifiers, self.predictors])
            return said, features[: self.classifiers], predicted
        return *self.stacks[0].train(inputs), self.stacks[1].train(predictors)[0]

    def rates(self, rates: Rates) -> list[Rates]:
        """The rates [K] of the rows as those of each stack's networks."""
        device = rates.learning_rate.device
        rows = [torch.arange(count, device=device) for count in (self.classifiers, self.predictors)]
        return [rates.of_rows(torch.cat(rows) if self._joint else own) for own in rows[: len(self.stacks)]]

    def update(self, losses: Tensor, rates: Sequence[Rates]) -> None:
        """Descend the losses [K] at the stacks' rates. Their sum's gradient holds each row's own: rows share
        no weight."""
        gradients = torch.autograd.grad(
            losses.sum(), [stack.weights for stack in self.stacks], allow_unused=True, materialize_grads=True
        )
        self._trained_on = None
        for stack, gradient, own in zip(self.stacks, gradients, rates, strict=True):
            stack.update(gradient, own)

    def finite(self) -> Tensor:
        """bool [K]: whether all weights of the row are finite."""
        everybody = torch.cat([stack.finite() for stack in self.stacks])
        finite, predictors = torch.split(everybody, [self.classifiers, self.predictors])
        return torch.cat([finite[: self.predictors] & predictors, finite[self.predictors :]])

    def remember(self, rows: Sequence[int]) -> None:
        """The current weights of these rows become their best ones."""
        for stack, own in self._shares(rows):
            stack.remember(own)

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows; `rows` are in ascending order, so that predictors still stand first."""
        shares = self._shares(rows)
        for stack, own in shares:
            stack.keep(own)
        self.stacks = [stack for stack, own in shares if own]
        self.predictors = len(self._with_predictor(rows))
        self.classifiers = len(rows)

    def said(self, inputs: Tensor) -> Tensor:
        """Inputs [K, B, ...] → logits [K, B, C] of the classifiers, in evaluation mode."""
        return self.stacks[0].logits(inputs, slice(0, self.classifiers))

    def predicted(self, inputs: Tensor) -> Tensor | None:
        """Inputs [K, B, ...] → logits [P, B, C] of the predictors, likewise; None where there are none."""
        if not self.predictors:
            return None
        first = self.classifiers if self._joint else 0
        return self.stacks[-1].logits(inputs[: self.predictors], slice(first, first + self.predictors))

    def probabilities(
        self, inputs: Tensor, rows: Sequence[int], *, best: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Inputs [k, B, ...] of these rows → softmax of classifiers [k, B, C] and of predictors [p, B, C].

        In evaluation mode, with the best or the current weights; None when none of the rows has a predictor.
        """
        said = self.stacks[0].logits(inputs, rows, best=best).softmax(-1)
        with_predictor = self._with_predictor(rows)
        if not with_predictor:
            return said, None
        stack, own = self._predictors(with_predictor)
        predicted = stack.logits(inputs[: len(with_predictor)], own, best=best)
        return said, predicted.softmax(-1)

    def best_states(self, row: int) -> tuple[State, State | None]:
        """Ordinary state dicts of the row's classifier and, if it has one, predictor."""
        classifier = self.stacks[0].best_state(row)
        if row >= self.predictors:
            return classifier, None
        stack, own = self._predictors([row])
        return classifier, stack.best_state(own[0])

    def places(self, row: int) -> list[tuple[str, int, int]]:
        """(network, number of its stack, number in the stack) of the row's networks."""
        found = [("classifier", 0, row)]
        if row < self.predictors:
            found.append(("predictor", len(self.stacks) - 1, self._predictors([row])[1][0]))
        return found

    def _with_predictor(self, rows: Sequence[int]) -> list[int]:
        return [row for row in rows if row < self.predictors]

    def _predictors(self, rows: Sequence[int]) -> tuple[NetworkRows, list[int]]:
        """Where the predictors of these rows stand."""
        return self.stacks[-1], [row + (self.classifiers if self._joint else 0) for row in rows]

    def _shares(self, rows: Sequence[int]) -> list[tuple[NetworkRows, list[int]]]:
        """For every stack which of its networks belong to these rows."""
        predictors = self._predictors(self._with_predictor(rows))
        if self._joint:
            return [(self.stacks[0], [*rows, *predictors[1]])]
        return [(self.stacks[0], list(rows)), predictors]
