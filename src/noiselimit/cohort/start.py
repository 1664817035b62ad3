"""The weights a row starts from: fresh ones, weights from a file, or those of its parent run."""

from noiselimit.cohort.rows import State
from noiselimit.methods import get_method
from noiselimit.networks.dropout import without_draws
from noiselimit.networks.initial import Role
from noiselimit.networks.pretrained import with_pretrained
from noiselimit.spec import RunSpec, architecture


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
