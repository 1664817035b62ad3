"""Bind a spec to data: fill in everything that follows from the data, and find the run it starts from."""

import dataclasses

from noiselimit.data.examples import DataSet, require_labels
from noiselimit.errors import InputError
from noiselimit.methods import get_method
from noiselimit.networks import Role, fitting_network
from noiselimit.runs.spec import RunSpec, architecture


def bind(spec: RunSpec, data: DataSet, fast_precision: str = "float32") -> RunSpec:
    """Fill in network, precision, shares, data and parent, and reset settings without effect.

    `fast_precision` is what precision 'auto' means on the device; a user's own network gets float32.
    """
    examples = data.examples
    require_labels(examples, data.name)
    precision = spec.precision
    if precision == "auto":
        precision = "float32" if spec.names_code else fast_precision
    bound = _without_idle_settings(
        dataclasses.replace(
            spec,
            network=fitting_network(examples.input_shape) if spec.network == "auto" else spec.network,
            precision=precision,
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
            f"augmentation is {bound.augmentation!r}, but the inputs are not images: leave it out."
        )
    if bound.transition is not None:
        bound.transition.transition(examples.class_names)  # raises if it does not fit the classes
    parent = parent_spec(bound)
    return bound if parent is None else dataclasses.replace(bound, parent=parent.hash)


def validated_elsewhere(spec: RunSpec, data: DataSet) -> bool:
    """Whether the data's own clean validation part is used, so that no examples are held out."""
    return data.validation is not None and spec.validation_labels == "clean"


def parent_spec(spec: RunSpec) -> RunSpec | None:
    """The CE run that a bound spec starts from, or None.

    It has the same data, noise, seed and settings, so that one CE run serves all its children.
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
    """Reset settings that have no effect on this run, so that equal runs get equal hashes."""
    method = get_method(spec.method)
    usual = spec.network if spec.predictor_features is None else "linear"
    idle_predictor = not method.needs_predictor or spec.predictor_network == usual
    idle_epochs = method.starts is None or spec.parent_epochs == spec.epochs
    parent_rate = usual_parent_rate(spec) if spec.parent_learning_rate is None else spec.parent_learning_rate
    return dataclasses.replace(
        spec,
        predictor_network=None if idle_predictor else spec.predictor_network,
        predictor_features=spec.predictor_features if method.needs_predictor else None,
        momentum=spec.momentum if spec.optimiser == "sgd" else RunSpec.momentum,
        transition=spec.transition if method.transition is not None else None,
        parent_learning_rate=None if method.starts is None else parent_rate,
        parent_epochs=None if idle_epochs else spec.parent_epochs,
    )


def usual_parent_rate(spec: RunSpec) -> float:
    """The child's own learning rate or, for a method whose rate is searched (dmi), Adam's default."""
    searched = get_method(spec.method).searches_rate and spec.optimiser == RunSpec.optimiser
    return RunSpec.learning_rate if searched else spec.learning_rate
