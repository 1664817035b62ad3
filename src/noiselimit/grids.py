"""Many specs from a few choices."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from noiselimit.errors import InputError, unknown
from noiselimit.methods import METHODS, get_method
from noiselimit.spec import RunSpec


def grid(**choices: Any) -> list[RunSpec]:
    """All combinations of the choices, each a value or a list of values, as specs in a stable order.

    Names are RunSpec's fields and the methods' hyper-parameters:
    `grid(method=["ce", "limit-l"], beta=[1, 10])` gives three runs, because cross-entropy has no beta.
    """
    methods = [get_method(name) for name in _values(choices.pop("method", RunSpec.method))]
    hyper_names = {name for method in methods for name in method.hyper}
    fields = {f.name for f in dataclasses.fields(RunSpec)} - {"method", "hyper", "data", "parent"}
    for name in choices:
        if name in fields | hyper_names:
            continue
        if any(name in method.hyper for method in METHODS.values()):
            given = " and ".join(method.name for method in methods)
            raise InputError(
                f"{name} is not a hyper-parameter of {given}: leave it out or choose another method."
            )
        raise unknown("option", name, fields | hyper_names | {"method"})
    specs: dict[str, RunSpec] = {}
    for method in methods:
        names = [name for name in choices if name in fields or name in method.hyper]
        for values in itertools.product(*(_values(choices[name]) for name in names)):
            chosen = dict(zip(names, values, strict=True))
            hyper = {name: chosen.pop(name) for name in names if name in method.hyper}
            spec = RunSpec(method=method.name, hyper=hyper, **chosen)
            specs.setdefault(spec.key, spec)
    return list(specs.values())


def refuse_idle(specs: Sequence[RunSpec], names: Iterable[str]) -> None:
    """Say that a setting which somebody chose would act in none of the runs."""
    methods = [get_method(spec.method) for spec in specs]
    predicting = any(method.needs_predictor for method in methods)
    starting = (any(method.starts for method in methods), "method fw, dmi or one with +init")
    acting = {
        "predictor_network": (predicting, "a method with a predictor, such as limit-l"),
        "predictor_features": (predicting, "a method with a predictor, such as limit-l"),
        "transition": (any(method.transition for method in methods), "method fw"),
        "parent_learning_rate": starting,
        "parent_epochs": starting,
        "momentum": (any(spec.optimiser == "sgd" for spec in specs), "optimiser sgd"),
    }
    for name in names:
        acts, remedy = acting.get(name, (True, ""))
        if not acts:
            raise InputError(
                f"{name} is given but acts in none of these runs: leave it out, or choose {remedy}."
            )


def _values(choice: Any) -> list[Any]:
    if isinstance(choice, np.ndarray) and choice.ndim == 1:
        return list(choice.tolist())
    return list(choice) if isinstance(choice, list | tuple | range) else [choice]
