"""A spec bound to data: everything filled in that follows from them, and the run that it starts from."""

import dataclasses

from noiselimit.data.examples import DataSet, require_labels
from noiselimit.errors import InputError
from noiselimit.methods import get_method
from noiselimit.networks import Role, fitting_network
from noiselimit.runs.spec import RunSpec, architecture


def bind(spec: RunSpec, data: DataSet, fast_precision: str = "float32") -> RunSpec:
    """The spec with everything filled in that follows from the data; what does not fit them is said here.

    `fast_precision` is what 'auto' stands for on the device at hand; somebody else's network gets float32.
    """
    examples = data.examples
    require_labels(examples, data.name)
    network = spec.network if spec.network != "auto" else fitting_network(examples.input_shape)
    bound = _without_idle_settings(
        dataclasses.replace(
            spec,
            network=network,
            precision=_precision(spec, fast_precision),
            test_share=0.0 if data.test is not None else spec.test_share,
            validation_share=0.0 if validated_elsewhere(spec, data) else spec.validation_share,
            data=data.fingerprint,
            parent=None,
        )
    )
    for role in Role if get_method(spec.method).needs_predictor else [Role.CLASSIFIER]:
        architecture(bound, role).check(examples.input_shape, examples.classes)
    if bound.augmentation != "none" and len(examples.input_shape) != 3:
        raise InputError(
            f"augmentation is {bound.augmentation!r}, but the inputs are no pictures: leave it out."
        )
    if bound.transition is not None:
        bound.transition.transition(examples.class_names)  # says if it does not fit the classes
    parent = parent_spec(bound)
    return bound if parent is None else dataclasses.replace(bound, parent=parent.hash)


def _precision(spec: RunSpec, fast: str) -> str:
    if spec.precision != "auto":
        return spec.precision
    return "float32" if spec.names_code else fast


def validated_elsewhere(spec: RunSpec, data: DataSet) -> bool:
    """Whether the data's own clean validation part chooses, so that no example need be held out."""
    return data.validation is not None and spec.validation_labels == "clean"


def parent_spec(spec: RunSpec) -> RunSpec | None:
    """The bound spec of the CE run that this bound one starts from, or None if it starts afresh.

    The same data, noise, seed and settings, so that one CE run serves all its children. Where the child's
    learning rate is searched for (paper: DMI's), the parent keeps the usual one; where the child is only
    tried for some epochs, the parent may have all of its own.
    """
    method = get_method(spec.method)
    if method.starts is None:
        return None
    for name in ("predictor_network", "predictor_features") if method.starts == "predictor" else ():
        if getattr(spec, name) is not None:
            raise InputError(
                f"{name} is {getattr(spec, name)!r}, but '{spec.method}' starts its predictor from a CE run "
                f"of network '{spec.network}': leave it out, or choose '{spec.method.removesuffix('+init')}'."
            )
    assert spec.parent_learning_rate is not None  # bound
    return _without_idle_settings(
        dataclasses.replace(
            spec,
            method="ce",
            hyper={},
            learning_rate=spec.parent_learning_rate,
            epochs=spec.parent_epochs or spec.epochs,
            parent=None,
        )
    )


def _without_idle_settings(spec: RunSpec) -> RunSpec:
    """Settings that do not act on this run go back to their defaults: equal runs get equal hashes."""
    method = get_method(spec.method)
    usual = spec.network if spec.predictor_features is None else "linear"
    idle_predictor = not method.needs_predictor or spec.predictor_network == usual
    idle_epochs = method.starts is None or spec.parent_epochs == spec.epochs
    return dataclasses.replace(
        spec,
        predictor_network=None if idle_predictor else spec.predictor_network,
        predictor_features=spec.predictor_features if method.needs_predictor else None,
        momentum=spec.momentum if spec.optimiser == "sgd" else RunSpec.momentum,
        transition=spec.transition if method.transition is not None else None,
        parent_learning_rate=_parent_learning_rate(spec),
        parent_epochs=None if idle_epochs else spec.parent_epochs,
    )


def _parent_learning_rate(spec: RunSpec) -> float | None:
    """As the user gave it, else what it stands for; None for a run that starts afresh."""
    method = get_method(spec.method)
    if method.starts is None or spec.parent_learning_rate is not None:
        return None if method.starts is None else spec.parent_learning_rate
    return usual_parent_rate(spec)


def usual_parent_rate(spec: RunSpec) -> float:
    """The child's own, but where that is searched for, the usual one of Adam."""
    searched = get_method(spec.method).searches_rate and spec.optimiser == RunSpec.optimiser
    return RunSpec.learning_rate if searched else spec.learning_rate
