"""The networks of a block of rows, with the weights that each starts from."""

from collections.abc import Sequence

import torch
from torch import Tensor

from noiselimit.engine.backend import PRECISIONS, Backend
from noiselimit.engine.layouts import Arithmetic, layout_for
from noiselimit.engine.optimisers import OPTIMISERS, Rates, with_kernels
from noiselimit.engine.rows import NetworkRows, State
from noiselimit.errors import InputError
from noiselimit.methods import get_method
from noiselimit.networks import Role
from noiselimit.networks.network import without_draws
from noiselimit.networks.pretrained import with_pretrained
from noiselimit.runs.spec import RunSpec, architecture


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


def check_start(spec: RunSpec, input_shape: tuple[int, ...], classes: int) -> None:
    """Say before training that the weights from a file do not fit the network."""
    if spec.initial_weights is not None:
        own = architecture(spec, Role.CLASSIFIER)
        with_pretrained(own.build(input_shape, classes).state_dict(), spec.initial_weights)


def check_weights(
    spec: RunSpec, role: Role, weights: State, input_shape: tuple[int, ...], classes: int
) -> None:
    """Say that weights from a run folder are not those of the network that its spec names.

    A run's hash covers a network's dotted path, not the code behind it: where that has another shape by now,
    it is noticed here; other changes are not.
    """
    own = architecture(spec, role)
    now = own.build(input_shape, classes).state_dict()
    fits = {name: t.shape for name, t in now.items()} == {name: t.shape for name, t in weights.items()}
    if not fits or not all(tensor.isfinite().all() for tensor in weights.values()):
        raise InputError(
            f"the weights of run {spec.folder_name} do not fit '{own.features or own.name}' or are damaged: "
            "delete that folder, or name another with --out."
        )


def initial_weights(
    spec: RunSpec,
    role: Role,
    input_shape: tuple[int, ...],
    classes: int,
    parent: State | None,
) -> State:
    """State dict of one network of the row, before its first step; `parent` is the parent's classifier.

    Batch-norm statistics are taken over with the weights; what a row draws its dropout from stays its own.
    """
    own = architecture(spec, role)
    fresh = own.initial_state(input_shape, classes, spec.seed, role)
    if parent is not None and get_method(spec.method).starts == role.name.lower():
        return fresh | without_draws(parent)
    if spec.initial_weights is not None and own.name == spec.network and own.features is None:
        return with_pretrained(fresh, spec.initial_weights)
    return fresh


def build_networks(
    specs: Sequence[RunSpec],
    parents: Sequence[State | None],
    input_shape: tuple[int, ...],
    classes: int,
    device: torch.device,
    backend: Backend,
) -> NetworkPair:
    """Rows that need a predictor come first; one stack holds both kinds of network where they are alike.

    `parents`: for each spec the classifier of the run it starts from, or None.
    """
    first = specs[0]
    predicting = sum(get_method(spec.method).needs_predictor for spec in specs)
    arithmetic = Arithmetic(PRECISIONS[first.precision], backend.kernels)
    optimiser = OPTIMISERS[first.optimiser]
    if backend.kernels:
        optimiser = with_kernels(optimiser)

    def states(rows: int, role: Role) -> list[State]:
        return [
            initial_weights(spec, role, input_shape, classes, parent)
            for spec, parent in zip(specs[:rows], parents[:rows], strict=True)
        ]

    def stack(role: Role, states: Sequence[State]) -> NetworkRows:
        module = architecture(first, role).build(input_shape, classes)
        forward = layout_for(module, device, arithmetic)
        return NetworkRows(module, states, optimiser, device, forward)

    said, predicted = states(len(specs), Role.CLASSIFIER), states(predicting, Role.PREDICTOR)
    if architecture(first, Role.CLASSIFIER) == architecture(first, Role.PREDICTOR):
        stacks = [stack(Role.CLASSIFIER, [*said, *predicted])]
    else:
        stacks = [stack(Role.CLASSIFIER, said)]
        stacks += [stack(Role.PREDICTOR, predicted)] if predicted else []
    return NetworkPair(stacks, len(said), predicting)
