"""Many specs from a few choices."""

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from noiselimit.draws import SAMPLERS
from noiselimit.engine.augmentation import AUGMENTATIONS
from noiselimit.engine.optimisers import OPTIMISERS, SCHEDULES
from noiselimit.errors import InputError, number, unknown
from noiselimit.methods import METHODS, get_method
from noiselimit.networks.architecture import Architecture, canonical, check_name, is_dotted
from noiselimit.networks.initial import Role
from noiselimit.networks.pretrained import WeightsFile, read_weights_file
from noiselimit.noise import Noise, as_noise, noise_from_json, noise_to_json
from noiselimit.registry import find

SCHEMA = 1
"""Version of what a spec means. Raised when a default or the arithmetic of a run changes."""
RUN_FOLDER = r".+-seed\d+-[0-9a-f]{16}"
"""What the names of runs' folders look like."""


@dataclass(frozen=True)
class RunSpec:
    """One training. Fields at their defaults do not enter the hash, so a new field orphans no old result."""

    method: str = "limit-l"
    """Name of the method."""
    hyper: Mapping[str, float] = field(default_factory=dict)
    """The method's hyper-parameters, such as beta; those not given take the method's defaults."""
    seed: int = 0
    """Gives the run all its random streams: split, noise, initial weights, order and sampling."""
    noise: Noise = field(default_factory=lambda: as_noise("none"))
    """Noise put on the labels of training and validation; text such as 'uniform:0.4' will do."""
    network: str = "auto"
    """Name of the classifier's network, or the dotted path package.module:factory of one's own; 'auto' picks
    one that fits the inputs."""
    predictor_network: str | None = None
    """The predictor's network likewise; None means the classifier's, or 'linear' on given features."""
    predictor_features: str | None = None
    """Dotted path of a module whose output the predictor sees in place of the input; it is not trained."""
    initial_weights: WeightsFile | None = None
    """Weights that both networks start from, such as a ResNet's trained elsewhere; a .safetensors file."""
    dropout: float = 0.0
    """Share of hidden units left out of every training step, in both networks."""
    epochs: int = 100
    """Passes over the training examples, at most."""
    patience: int = 100
    """Stop after this many epochs without a better accuracy on the noisy validation labels."""
    batch_size: int = 256
    """Examples per step; the last batch of an epoch may be smaller."""
    optimiser: str = "adam"
    """adam or sgd."""
    learning_rate: float = 1e-3
    """Learning rate of both networks."""
    schedule: str = "constant"
    """constant or cosine; changes from epoch to epoch."""
    weight_decay: float = 0.0
    """L2 penalty on all weights of both networks."""
    momentum: float = 0.9
    """Momentum of sgd; adam ignores it."""
    augmentation: str = "none"
    """none, flip, crop or flip-crop: how pictures are varied in training."""
    sampler: str = "shuffled"
    """shuffled, or balanced: every given class equally often."""
    precision: str = "auto"
    """float32 or bfloat16: of activations; 'auto' picks what is fast on the device. Weights are float32."""
    transition: Noise | None = None
    """Transition matrix that fw corrects by, given as a noise; None: estimated from the parent run."""
    parent_learning_rate: float | None = None
    """Learning rate of the CE run that fw, dmi and +init start from; None: its own (dmi with adam: 0.001)."""
    parent_epochs: int | None = None
    """Passes of that CE run, at most; None: as many as its own."""
    validation_share: float = 0.2
    """Share of the examples kept for choosing the epoch and the hyper-parameters, with noisy labels."""
    validation_labels: str = "given"
    """given: noisy labels choose epoch and hyper-parameters; clean: clean ones do, where they are known."""
    test_share: float = 0.2
    """Share of the examples kept for testing, without added noise, when the data have no test part."""
    train_size: int | None = None
    """Train on this many examples only; the validation examples stay the same."""
    data: str | None = None
    """Fingerprint of the data's content; filled in when training starts."""
    parent: str | None = None
    """Hash of the run this one starts from; filled in when training starts."""

    def __post_init__(self) -> None:
        method = get_method(self.method)
        if not isinstance(self.hyper, Mapping):
            raise InputError(f"hyper is {self.hyper!r}: give a mapping such as {{'beta': 10}}.")
        foreign = set(self.hyper) - set(method.hyper)
        if foreign:
            raise InputError(
                f"{min(map(str, foreign))} is not a hyper-parameter of method '{self.method}', which takes "
                f"{', '.join(method.hyper) or 'none'}: leave it out."
            )
        hyper = {name: self.hyper.get(name, default) for name, default in method.hyper.items()}
        checked: dict[str, object] = {
            "hyper": {
                name: number(name, value, at_least=0.0, below=FLOAT32) for name, value in hyper.items()
            },
            "noise": as_noise(self.noise),
            "transition": None if self.transition is None else as_noise(self.transition),
        }
        if isinstance(self.initial_weights, str | Path):
            checked["initial_weights"] = read_weights_file(self.initial_weights)
        for name, least in _WHOLE_NUMBERS.items():
            if getattr(self, name) is not None or name not in ("train_size", "parent_epochs"):
                checked[name] = _whole(name, getattr(self, name), least)
        for name, below in _FRACTIONS.items():
            if getattr(self, name) is None and name == "parent_learning_rate":
                continue
            checked[name] = number(name, getattr(self, name), at_least=0.0, below=below)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        for name in ("learning_rate", "parent_learning_rate"):
            if getattr(self, name) == 0:
                raise InputError(f"{name} is 0, so nothing would be learned: give a number above 0.")
        if self.network != "auto":
            check_name(self.network)
        if self.predictor_network is not None:
            check_name(self.predictor_network)
        if self.predictor_features is not None and not is_dotted(self.predictor_features):
            raise InputError(
                f"predictor_features is {self.predictor_features!r}: give the dotted path of a factory, "
                "such as mypackage.features:build."
            )
        for name in ("network", "predictor_network", "predictor_features"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, canonical(getattr(self, name)))
        find("optimiser", self.optimiser, OPTIMISERS)
        for name, known in _NAMES.items():
            if getattr(self, name) not in list(known):  # a list, for values that cannot be hashed
                raise unknown(name, getattr(self, name), known)

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property  # a cohort's news ask for it once per run and epoch
    def hash(self) -> str:
        """16 hexadecimal digits that stand for everything that determines the result."""
        if self.data is None or "auto" in (self.network, self.precision):
            raise InputError(
                "this spec is not bound to data yet: call bind(spec, data) before asking its hash."
            )
        # The schema always counts: it is what gives the omitted defaults their meaning.
        content = {"schema": SCHEMA, **_without_defaults(self)}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def names_code(self) -> bool:
        """Whether a network or its features are somebody's code, named by dotted path."""
        paths = (self.network, self.predictor_network, self.predictor_features)
        return any(is_dotted(path) for path in paths)

    @property
    def key(self) -> str:
        """All of the spec as one text, equal for equal specs, bound or not."""
        return json.dumps(_told_apart(self.to_json()), sort_keys=True)

    @property
    def folder_name(self) -> str:
        """What the run's folder is called: readable first, unique by the hash."""
        hyper = "".join(f"-{name}{value:g}" for name, value in self.hyper.items())
        return f"{self.method}{hyper}-seed{self.seed}-{self.hash}"

    def to_json(self) -> dict[str, Any]:
        """Every field, defaults included, as plain JSON values."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {
            "schema": SCHEMA,
            **values,
            "hyper": dict(self.hyper),
            "noise": noise_to_json(self.noise),
            "transition": None if self.transition is None else noise_to_json(self.transition),
            "initial_weights": None if self.initial_weights is None else self.initial_weights.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any], source: str = "spec") -> "RunSpec":
        """The inverse of `to_json`; refuses what a newer version wrote."""
        values = dict(value)
        schema = values.pop("schema", None)
        values.setdefault("precision", "float32")  # before there was a choice
        known = {f.name for f in dataclasses.fields(cls)}
        if schema != SCHEMA or not set(values) <= known or not isinstance(values.get("hyper"), dict):
            raise InputError(
                f"{source} was written by another version of noiselimit (schema {schema}, this one reads "
                f"{SCHEMA}): install the version that wrote it."
            )
        try:
            for name, read in (
                ("noise", noise_from_json),
                ("transition", noise_from_json),
                ("initial_weights", WeightsFile.from_json),
            ):
                if values.get(name) is not None:
                    values[name] = read(values[name])
            return cls(**values)
        except (InputError, TypeError, AttributeError) as error:  # the file may hold anything
            raise InputError(f"{source} was altered ({error}): train the run again.") from None


FLOAT32 = 3.4e38
"""The arithmetic's largest number."""

_WHOLE_NUMBERS = {
    "seed": 0,
    "epochs": 1,
    "parent_epochs": 1,
    "patience": 1,
    "batch_size": 2,
    "train_size": 2,
}
_FRACTIONS = {
    "learning_rate": math.inf,
    "parent_learning_rate": math.inf,
    "dropout": 1.0,
    "weight_decay": math.inf,
    "momentum": 1.0,
    "validation_share": 1.0,
    "test_share": 1.0,
}
_NAMES: dict[str, Collection[str]] = {
    "precision": ("auto", "float32", "bfloat16"),
    "schedule": SCHEDULES,
    "augmentation": AUGMENTATIONS,
    "sampler": SAMPLERS,
    "validation_labels": ("given", "clean"),
}


def architecture(spec: RunSpec, role: Role) -> Architecture:
    """What a bound run's classifier or predictor is built as."""
    if role is Role.CLASSIFIER:
        return Architecture(spec.network, spec.dropout, get_method(spec.method).head_bias)
    usual = spec.network if spec.predictor_features is None else "linear"
    return Architecture(spec.predictor_network or usual, spec.dropout, features=spec.predictor_features)


def setting(spec: RunSpec) -> RunSpec:
    """The spec without its seed, and without the parent that the seed has: what runs of one setting share."""
    return dataclasses.replace(spec, seed=0, parent=None)


def problem(spec: RunSpec) -> RunSpec:
    """What the spec has to solve, without how: data, noise and sizes. Only runs on one problem compare."""
    return RunSpec(
        data=spec.data,
        noise=spec.noise,
        validation_share=spec.validation_share,
        validation_labels=spec.validation_labels,
        test_share=spec.test_share,
        train_size=spec.train_size,
    )


def _without_defaults(spec: RunSpec) -> dict[str, Any]:
    defaults = {**RunSpec(method=spec.method).to_json(), "precision": "float32"}  # what there was at first
    values = {name: value for name, value in spec.to_json().items() if value != defaults[name]}
    hyper_defaults = get_method(spec.method).hyper
    hyper = {name: value for name, value in spec.hyper.items() if value != hyper_defaults[name]}
    return _told_apart({**values, "method": spec.method, "hyper": hyper})


def _told_apart(values: dict[str, Any]) -> dict[str, Any]:
    """The JSON values without what does not make a difference: a weights file counts by its content."""
    weights = values.get("initial_weights")
    return values if weights is None else {**values, "initial_weights": weights["sha256"]}


def _whole(name: str, value: Any, at_least: int) -> int:
    try:
        found = int(value)
        exact = not isinstance(value, bool) and (isinstance(value, str) or found == value)
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact or not at_least <= found < 2**63:
        raise InputError(f"{name} is {value!r}: give a whole number ≥ {at_least}.")
    return found


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
