"""The classifiers and predictors of a block as stacked tensors, and the weights that each starts from."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from noiselimit.engine.backend import PRECISIONS, Backend
from noiselimit.engine.layouts import Forward, layout_for
from noiselimit.engine.optimisers import OPTIMISERS, Optimiser, Rates
from noiselimit.engine.results import Row, State
from noiselimit.errors import InputError
from noiselimit.methods import get_method
from noiselimit.networks import Role, with_pretrained
from noiselimit.networks.network import Dropout, without_draws
from noiselimit.runs.spec import RunSpec, architecture

_ALIGNMENT = 64
"""Every parameter starts at a multiple of this many values, so arithmetic is the same in every row."""


class Packing:
    """Packs named parameters into one vector per row, and unpacks them."""

    def __init__(self, parameters: Mapping[str, Tensor], *, channels_last: bool = False) -> None:
        """`channels_last`: store the inputs of convolutions innermost, which is fastest on a GPU."""
        self.channels_last = channels_last
        self._shapes = {name: tuple(tensor.shape) for name, tensor in parameters.items()}
        self._types = {name: tensor.dtype for name, tensor in parameters.items()}

    def pack(self, states: Sequence[Mapping[str, Tensor]]) -> Tensor:
        """K state dicts → [K, length], with zeros between parameters."""
        pieces = [torch.zeros(len(states), 0)]
        for name, shape in self._shapes.items():
            stacked = torch.stack([state[name] for state in states])
            if self.channels_last and len(shape) == 4:
                stacked = stacked.movedim(2, -1)
            flat = stacked.reshape(len(states), -1)
            pieces.append(pad(flat, (0, -flat.shape[1] % _ALIGNMENT)))
        return torch.cat(pieces, 1)

    def unpack(self, vectors: Tensor) -> dict[str, Tensor]:
        """[K, length] → views [K, ...] by name; copies of parameters that have another dtype."""
        views = self._views(vectors, channels_last=self.channels_last)
        return {name: view.to(self._types[name]) for name, view in views.items()}

    def _views(self, vectors: Tensor, *, channels_last: bool) -> dict[str, Tensor]:
        sizes = [math.prod(shape) for shape in self._shapes.values()]
        # One split, because its gradient is one concatenation. The gradient of a slice is a full vector.
        pieces = torch.split(vectors, [n for size in sizes for n in (size, -size % _ALIGNMENT)], 1)[::2]
        views = {}
        for (name, shape), piece in zip(self._shapes.items(), pieces, strict=True):
            if channels_last and len(shape) == 4:
                outputs, inputs, *window = shape
                views[name] = piece.view(len(piece), outputs, *window, inputs).movedim(-1, 2)
            else:
                views[name] = piece.view(len(piece), *shape)
        return views

    def reordered(self, vector: Tensor, channels_last: bool) -> Tensor:
        """Convert a vector [length] that was packed with this `channels_last`, maybe on another device."""
        if channels_last == self.channels_last:
            return vector
        views = self._views(vector[None], channels_last=channels_last)
        return self.pack([{name: view[0] for name, view in views.items()}])[0]


Rows = Sequence[int] | slice
"""Some of the rows. A slice gives views, a list copies."""


class NetworkStack:
    """Stacked tensors of K networks. Rows never mix: each has its own batch and its own gradient."""

    def __init__(
        self,
        module: nn.Module,
        states: Sequence[State],
        optimiser: Optimiser,
        device: torch.device,
        forward: Forward,
    ) -> None:
        """`forward` is a layout of `module`, see `noiselimit.engine.layouts`."""
        learned = {name: tensor for name, tensor in module.named_parameters() if tensor.requires_grad}
        given = {name for name, _ in module.named_parameters()} - set(learned)
        self.packing = Packing(learned, channels_last=device.type == "cuda")
        self.frozen = {name: _shared([state[name] for state in states]).to(device) for name in given}
        """Parameters that do not learn: [1, ...] if they are the same in all rows, else [K, ...]."""
        self.weights = self.packing.pack(states).to(device).requires_grad_()
        """[K, length]: all parameters that learn."""
        self.buffers = {
            name: torch.stack([state[name] for state in states]).to(device)
            for name in states[0]
            if name not in given and name not in learned
        }
        self.optimiser = optimiser
        self.moments = {part: torch.zeros_like(self.weights) for part in optimiser.state}
        self.best_weights = self.weights.detach().clone()
        self.best_buffers = {name: tensor.clone() for name, tensor in self.buffers.items()}
        self.uses_dropout = any(isinstance(layer, Dropout) for layer in module.modules())
        self._forward = forward

    def __len__(self) -> int:
        return len(self.weights)

    def train(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """[K, B, ...] → logits [K, B, C], features [K, B, F], in training mode."""
        parameters = self.packing.unpack(self.weights)
        return self._forward(parameters, self.buffers | self._frozen_rows(slice(None)), inputs, True)

    @torch.no_grad()
    def logits(self, inputs: Tensor, rows: Rows, *, best: bool = False) -> Tensor:
        """[k, B, ...] → [k, B, C] of these rows in evaluation mode, with current or best weights."""
        weights, buffers = (self.best_weights, self.best_buffers) if best else (self.weights, self.buffers)
        parameters = self.packing.unpack(weights[rows])
        buffers = {name: tensor[rows] for name, tensor in buffers.items()}
        return self._forward(parameters, buffers | self._frozen_rows(rows), inputs, False)[0]

    @torch.no_grad()
    def update(self, gradients: Tensor, rates: Rates) -> None:
        """Take an optimiser step."""
        self.optimiser.update(self.weights, gradients, self.moments, rates)

    @torch.no_grad()
    def finite(self) -> Tensor:
        """bool [K]: whether all weights of the row are finite."""
        return self.weights.isfinite().all(1)

    @torch.no_grad()
    def save_best(self, rows: Sequence[int]) -> None:
        """Make the current weights of these rows their best ones."""
        self.best_weights[rows] = self.weights[rows]
        for name, best in self.best_buffers.items():
            best[rows] = self.buffers[name][rows]

    @torch.no_grad()
    def select(self, rows: Sequence[int]) -> None:
        """Drop all other rows."""
        self.weights = self.weights.detach()[rows].requires_grad_()
        self.best_weights = self.best_weights[rows]
        self.buffers = {name: tensor[rows] for name, tensor in self.buffers.items()}
        self.best_buffers = {name: tensor[rows] for name, tensor in self.best_buffers.items()}
        self.frozen = {name: t[rows] if len(t) > 1 else t for name, t in self.frozen.items()}
        self.moments = {part: tensor[rows] for part, tensor in self.moments.items()}

    def state(self) -> dict[str, Tensor]:
        """The live tensors [K, ...] of all that training changes, by name."""
        return {
            "weights": self.weights.detach(),
            "best_weights": self.best_weights,
            **{f"moments.{part}": tensor for part, tensor in self.moments.items()},
            **{f"buffers.{name}": tensor for name, tensor in self.buffers.items()},
            **{f"best_buffers.{name}": tensor for name, tensor in self.best_buffers.items()},
        }

    def from_saved(self, name: str, saved: Tensor, channels_last: bool) -> Tensor:
        """A row's saved tensor of this name in `state`, in the order in which it is stored here."""
        packed = name.partition(".")[0] in ("weights", "best_weights", "moments")
        return self.packing.reordered(saved, channels_last) if packed else saved

    def best_state(self, row: int) -> State:
        """The row's best weights and statistics as an ordinary state dict on the CPU."""
        one = slice(row, row + 1)
        parameters = self.packing.unpack(self.best_weights[one])
        buffers = {name: tensor[one] for name, tensor in self.best_buffers.items()}
        state = parameters | buffers | self._frozen_rows(one)
        return {
            name: tensor[0].cpu().clone(memory_format=torch.contiguous_format)
            for name, tensor in state.items()
        }

    def _frozen_rows(self, rows: Rows) -> dict[str, Tensor]:
        """The frozen parameters of these rows, [k, ...]; shared ones are not copied."""
        count = len(range(len(self))[rows]) if isinstance(rows, slice) else len(rows)
        return {
            name: tensor.expand(count, *tensor.shape[1:]) if len(tensor) == 1 else tensor[rows]
            for name, tensor in self.frozen.items()
        }


def _shared(tensors: Sequence[Tensor]) -> Tensor:
    """[1, ...] if all tensors are equal, else all of them stacked."""
    same = all(torch.equal(tensor, tensors[0]) for tensor in tensors)
    return tensors[0].unsqueeze(0).clone() if same else torch.stack(list(tensors))


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

    def rows(self) -> list[list[int]]:
        """For every stack, the rows to which its networks belong."""
        classifiers, predictors = list(range(self.classifiers)), list(range(self.predictors))
        return [classifiers + predictors] if self._joint else [classifiers, predictors]

    def update(
        self,
        losses: Tensor,
        rates: Sequence[Rates],
        add_gradients: Callable[[Sequence[Tensor]], None] = lambda gradients: None,
    ) -> None:
        """Take a step down the losses [K]. Rows share no weights, so the gradient of the sum serves all.

        `add_gradients` adds those of other processes.
        """
        gradients = torch.autograd.grad(
            losses.sum(), [stack.weights for stack in self.stacks], allow_unused=True, materialize_grads=True
        )
        self._inputs = None
        add_gradients(gradients)
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

    def outputs(self, inputs: Tensor, rows: Sequence[int], *, best: bool) -> tuple[Tensor, Tensor | None]:
        """Inputs [k, B, ...] of these rows → outputs of classifiers [k, B, C] and of predictors [p, B, C].

        In evaluation mode, with the best or the current weights; None if none of the rows has a predictor.
        """
        own = self.stacks[0].logits(inputs, rows, best=best)
        networks = self._predictors_of(rows)
        if not networks:
            return own, None
        predicted = self.stacks[-1].logits(inputs[: len(networks)], networks, best=best)
        return own, predicted

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
    rows: Sequence[Row], input_shape: tuple[int, ...], classes: int, backend: Backend
) -> BlockNetworks:
    """The networks of these rows, of which those with a predictor come first."""
    first = rows[0].spec
    predictors = sum(get_method(row.spec.method).needs_predictor for row in rows)
    optimiser = replace(OPTIMISERS[first.optimiser], kernels=backend.kernels)

    def states(role: Role, count: int) -> list[State]:
        return [initial_weights(row.spec, role, input_shape, classes, row.parent) for row in rows[:count]]

    def stack(role: Role, states: Sequence[State]) -> NetworkStack:
        module = architecture(first, role).build(input_shape, classes)
        several = backend.processes.count > 1
        layout = layout_for(
            module, backend.device, PRECISIONS[first.precision], fused=backend.kernels, stack=not several
        )
        return NetworkStack(module, states, optimiser, backend.device, layout)

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
