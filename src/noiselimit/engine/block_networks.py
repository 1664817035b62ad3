"""The classifiers and predictors of a block, and the weights that each starts from."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from noiselimit.engine.backend import PRECISIONS, Backend
from noiselimit.engine.layouts import layout_for
from noiselimit.engine.network_stack import NetworkStack, State
from noiselimit.engine.optimisers import OPTIMISERS, Rates
from noiselimit.engine.results import Row
from noiselimit.errors import InputError
from noiselimit.methods import get_method
from noiselimit.networks import Role
from noiselimit.networks.network import without_draws
from noiselimit.networks.pretrained import with_pretrained
from noiselimit.runs.spec import RunSpec, architecture


class BlockNetworks:
    """Classifiers of K rows and predictors of the first P, whose methods need one; P may be 0.

    If both have the same architecture they form one stack of K + P networks, so that one launch serves both.
    Only this class knows about that: all others count rows of the block.
    """

    def __init__(self, stacks: Sequence[NetworkStack], classifiers: int, predictors: int) -> None:
        """`stacks`: one with the classifiers and then the predictors, or one of each."""
        assert [len(stack) for stack in stacks] in ([classifiers + predictors], [classifiers, predictors])
        self.stacks = list(stacks)
        self.classifiers = classifiers  # K
        self.predictors = predictors  # P
        self._inputs: Tensor | None = None

    @property
    def _joint(self) -> bool:
        return len(self.stacks) == 1

    @property
    def uses_dropout(self) -> bool:
        """Whether the classifiers use dropout."""
        return self.stacks[0].uses_dropout

    def train(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """[K, B, ...] → classifier logits [K, B, C], features [K, B, F], predictor logits [P, B, C]."""
        if not self.predictors:
            return *self.stacks[0].train(inputs), None
        predictors = inputs[: self.predictors]
        if self._joint:
            # Kept until the gradients are computed: several streams read it, which its allocator ignores.
            self._inputs = torch.cat([inputs, predictors])
            logits, features = self.stacks[0].train(self._inputs)
            own, predicted = torch.split(logits, [self.classifiers, self.predictors])
            return own, features[: self.classifiers], predicted
        return *self.stacks[0].train(inputs), self.stacks[1].train(predictors)[0]

    def rates(self, rates: Rates) -> list[Rates]:
        """The rates [K] of the rows, expanded to the networks of each stack."""
        device = rates.learning_rate.device
        rows = [torch.arange(count, device=device) for count in (self.classifiers, self.predictors)]
        return [rates.of_rows(torch.cat(rows) if self._joint else own) for own in rows[: len(self.stacks)]]

    def update(self, losses: Tensor, rates: Sequence[Rates]) -> None:
        """Take a step down the losses [K]. Rows share no weights, so the gradient of the sum serves all."""
        gradients = torch.autograd.grad(
            losses.sum(), [stack.weights for stack in self.stacks], allow_unused=True, materialize_grads=True
        )
        self._inputs = None
        for stack, gradient, own in zip(self.stacks, gradients, rates, strict=True):
            stack.update(gradient, own)

    def finite(self) -> Tensor:
        """bool [K]: whether all weights of the row are finite."""
        all_finite = torch.cat([stack.finite() for stack in self.stacks])
        finite, predictors = torch.split(all_finite, [self.classifiers, self.predictors])
        return torch.cat([finite[: self.predictors] & predictors, finite[self.predictors :]])

    def save_best(self, rows: Sequence[int]) -> None:
        """Make the current weights of these rows their best ones."""
        for stack, own in self._by_stack(rows):
            stack.save_best(own)

    def select(self, rows: Sequence[int]) -> None:
        """Drop all other rows; `rows` are ascending, so rows with a predictor still come first."""
        by_stack = self._by_stack(rows)
        for stack, own in by_stack:
            stack.select(own)
        self.stacks = [stack for stack, own in by_stack if own]
        self.predictors = sum(row < self.predictors for row in rows)
        self.classifiers = len(rows)

    def classifier_logits(self, inputs: Tensor) -> Tensor:
        """[K, B, ...] → logits [K, B, C] of the classifiers in evaluation mode."""
        return self.stacks[0].logits(inputs, slice(0, self.classifiers))

    def predictor_logits(self, inputs: Tensor) -> Tensor | None:
        """[K, B, ...] → logits [P, B, C] of the predictors in evaluation mode; None if there are none."""
        if not self.predictors:
            return None
        own = slice(self._first_predictor, self._first_predictor + self.predictors)
        return self.stacks[-1].logits(inputs[: self.predictors], own)

    def probabilities(
        self, inputs: Tensor, rows: Sequence[int], *, best: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Inputs [k, B, ...] of these rows → softmax of classifiers [k, B, C] and of predictors [p, B, C].

        In evaluation mode, with the best or the current weights; None if none of the rows has a predictor.
        """
        own = self.stacks[0].logits(inputs, rows, best=best).softmax(-1)
        networks = self._predictors_of(rows)
        if not networks:
            return own, None
        predicted = self.stacks[-1].logits(inputs[: len(networks)], networks, best=best)
        return own, predicted.softmax(-1)

    def best_states(self, row: int) -> tuple[State, State | None]:
        """State dicts of the row's classifier and, if it has one, predictor."""
        found = [self.stacks[stack].best_state(own) for _, stack, own in self.places(row)]
        return found[0], found[1] if len(found) == 2 else None

    def places(self, row: int) -> list[tuple[str, int, int]]:
        """(network, number of its stack, number in the stack) of the row's networks."""
        predictor = [("predictor", len(self.stacks) - 1, own) for own in self._predictors_of([row])]
        return [("classifier", 0, row), *predictor]

    @property
    def _first_predictor(self) -> int:
        """Its number in the last stack."""
        return self.classifiers if self._joint else 0

    def _predictors_of(self, rows: Sequence[int]) -> list[int]:
        """The numbers in the last stack of the predictors that these rows have."""
        return [self._first_predictor + row for row in rows if row < self.predictors]

    def _by_stack(self, rows: Sequence[int]) -> list[tuple[NetworkStack, list[int]]]:
        """For every stack, the numbers of the networks of these rows."""
        own, predictors = list(rows), self._predictors_of(rows)
        return list(zip(self.stacks, [own + predictors] if self._joint else [own, predictors], strict=True))


def build_networks(
    rows: Sequence[Row], input_shape: tuple[int, ...], classes: int, device: torch.device, backend: Backend
) -> BlockNetworks:
    """The networks of these rows, of which those with a predictor come first."""
    first = rows[0].spec
    predictors = sum(get_method(row.spec.method).needs_predictor for row in rows)
    optimiser = replace(OPTIMISERS[first.optimiser], kernels=backend.kernels)

    def states(role: Role, count: int) -> list[State]:
        return [initial_weights(row.spec, role, input_shape, classes, row.parent) for row in rows[:count]]

    def stack(role: Role, states: Sequence[State]) -> NetworkStack:
        module = architecture(first, role).build(input_shape, classes)
        layout = layout_for(module, device, PRECISIONS[first.precision], fused=backend.kernels)
        return NetworkStack(module, states, optimiser, device, layout)

    classifier, predictor = states(Role.CLASSIFIER, len(rows)), states(Role.PREDICTOR, predictors)
    if architecture(first, Role.CLASSIFIER) == architecture(first, Role.PREDICTOR):
        stacks = [stack(Role.CLASSIFIER, [*classifier, *predictor])]
    else:
        stacks = [stack(Role.CLASSIFIER, classifier)]
        stacks += [stack(Role.PREDICTOR, predictor)] if predictor else []
    return BlockNetworks(stacks, len(rows), predictors)


def initial_weights(
    spec: RunSpec, role: Role, input_shape: tuple[int, ...], classes: int, parent: State | None
) -> State:
    """State dict of one of the run's networks before its first step.

    A `parent` classifier's batch-norm statistics are copied with its weights, its dropout keys are not.
    """
    own = architecture(spec, role)
    fresh = own.initial_state(input_shape, classes, spec.seed, role)
    if parent is not None and get_method(spec.method).starts == role.name.lower():
        return fresh | without_draws(parent)
    if spec.initial_weights is not None and own.name == spec.network and own.features is None:
        return with_pretrained(fresh, spec.initial_weights)
    return fresh


def check_start(spec: RunSpec, input_shape: tuple[int, ...], classes: int) -> None:
    """Raise `InputError` if the spec's `initial_weights` do not fit its network."""
    if spec.initial_weights is not None:
        own = architecture(spec, Role.CLASSIFIER)
        with_pretrained(own.build(input_shape, classes).state_dict(), spec.initial_weights)


def check_weights(
    spec: RunSpec, role: Role, weights: State, input_shape: tuple[int, ...], classes: int
) -> None:
    """Raise `InputError` if weights from a run folder do not fit the network that its spec names.

    A run's hash covers the dotted path of a user's network, not its code, which may have changed.
    """
    own = architecture(spec, role)
    now = own.build(input_shape, classes).state_dict()
    fits = {name: t.shape for name, t in now.items()} == {name: t.shape for name, t in weights.items()}
    if not fits or not all(tensor.isfinite().all() for tensor in weights.values()):
        raise InputError(
            f"the weights of run {spec.folder_name} do not fit '{own.features or own.name}' or are damaged: "
            "delete that folder, or choose another with --out."
        )
