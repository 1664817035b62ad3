"""The weights a row starts from: fresh ones, weights from a file, or those of its parent run."""

from noiselimit.cohort.rows import State
from noiselimit.errors import InputError
from noiselimit.methods import get_method
from noiselimit.networks.dropout import without_draws
from noiselimit.networks.initial import Role
from noiselimit.networks.pretrained import with_pretrained
from noiselimit.spec import RunSpec, architecture


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
