"""The networks of a block of rows, with the weights that each starts from."""

from collections.abc import Sequence

import torch

from noiselimit.cohort.layouts import Arithmetic, layout_for
from noiselimit.cohort.pace import PRECISIONS, Pace
from noiselimit.cohort.pair import NetworkPair
from noiselimit.cohort.rows import NetworkRows, State
from noiselimit.cohort.start import initial_weights
from noiselimit.methods import get_method
from noiselimit.networks.initial import Role
from noiselimit.optimisers import OPTIMISERS, with_kernels
from noiselimit.spec import RunSpec, architecture


def build_networks(
    specs: Sequence[RunSpec],
    parents: Sequence[State | None],
    input_shape: tuple[int, ...],
    classes: int,
    device: torch.device,
    pace: Pace,
) -> NetworkPair:
    """Rows that need a predictor come first; one stack holds both kinds of network where they are alike.

    `parents`: for each spec the classifier of the run it starts from, or None.
    """
    first = specs[0]
    predicting = sum(get_method(spec.method).needs_predictor for spec in specs)
    arithmetic = Arithmetic(PRECISIONS[first.precision], pace.kernels)
    optimiser = OPTIMISERS[first.optimiser]
    if pace.kernels:
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
