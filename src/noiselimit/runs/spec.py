"""A run's settings, and many runs from a few choices."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noiselimit.dotted import Named, canonical, find, is_dotted
from noiselimit.errors import InputError, number, shown, unknown
from noiselimit.fields import option
from noiselimit.methods import METHODS, get_method, method_name
from noiselimit.runs.known import replace_unknown

# The command line reads the fields below for --help, so torch and numpy are imported inside functions.
if TYPE_CHECKING:
    from noiselimit.networks import Architecture, Role
    from noiselimit.networks.pretrained import WeightsFile
    from noiselimit.noise import Noise

SCHEMA = 1
"""Version of what a spec means. Raised when a default or the arithmetic of a run changes."""
RUN_FOLDER = r".+-seed\d+-[0-9a-f]{16}"
"""Pattern of the names of run folders."""
FLOAT32 = 3.4e38
"""The largest number that a run computes with."""


def _no_noise() -> Noise:
    from noiselimit.noise import as_noise

    return as_noise("none")


@dataclass(frozen=True)
class RunSpec:
    """The settings of one training run.

    Fields at their defaults do not enter the hash, so a new field does not change the hash of old runs. The
    metadata of a field hold its help text and the values that it accepts: `whole` numbers from that one on,
    numbers from 0 to `below`, or one of the `names`.
    """

    method: str = option("limit-l", "Such as ce, limit-g or limit-l+s; see noiselimit docs methods.")
    hyper: Mapping[str, float] = field(default_factory=dict)
    """Hyper-parameters of the method, such as beta; those not given have the method's defaults."""
    seed: int = option(0, "Seed of all random numbers of a run.", whole=0)
    noise: Noise = field(
        default_factory=_no_noise,
        metadata={
            "help": "Noise added to training and validation labels, such as uniform:0.4, pair:0.4 or "
            "given:worst; see noiselimit docs noise.",
            "shown": "none",
        },
    )
    network: str = option("auto", "Such as small-cnn or resnet-34, or package.module:factory.")
    predictor_network: str | None = option(
        None, "Network of the predictor.", shown="that of the classifier, or linear on predictor features"
    )
    predictor_features: str | None = option(
        None, "package.module:factory of a frozen module whose output the predictor sees.", shown="none"
    )
    initial_weights: WeightsFile | None = option(
        None, ".safetensors file that both networks start from.", shown="fresh weights"
    )
    dropout: float = option(0.0, "Share of hidden units dropped in a training step.", below=1.0)
    epochs: int = option(100, "Maximum number of passes over the data; Clothing1M: 30.", whole=1)
    patience: int = option(100, "Stop after this many epochs without a better validation accuracy.", whole=1)
    batch_size: int = option(256, "Examples per step.", whole=2)
    optimiser: str = option("adam", "adam or sgd.", names=("adam", "sgd"))
    learning_rate: float = option(1e-3, "Learning rate of both networks.", below=math.inf)
    schedule: str = option(
        "constant", "Learning-rate schedule: constant or cosine.", names=("constant", "cosine")
    )
    weight_decay: float = option(0.0, "L2 penalty on the weights.", below=math.inf)
    momentum: float = option(0.9, "Momentum of sgd.", below=1.0)
    augmentation: str = option(
        "none",
        "none, flip, crop or flip-crop; CIFAR and Clothing1M: flip-crop.",
        names=("none", "flip", "crop", "flip-crop"),
    )
    sampler: str = option(
        "shuffled", "shuffled, or balanced: all classes drawn equally often.", names=("shuffled", "balanced")
    )
    precision: str = option(
        "auto",
        "Precision of activations: float32, bfloat16, or auto: bfloat16 on a GPU that has it.",
        names=("auto", "float32", "bfloat16"),
    )
    batch_norm: str = option(
        "synchronised",
        "Statistics of batch-norm if several processes train: synchronised, or local to each.",
        names=("synchronised", "local"),
    )
    transition: Noise | None = option(
        None, "Transition matrix of method fw, written like a noise.", shown="estimated from the parent run"
    )
    parent_learning_rate: float | None = option(
        None,
        "Learning rate of the CE run that fw, dmi and +init start from.",
        shown="the run's own, for dmi 0.001",
        below=math.inf,
    )
    parent_epochs: int | None = option(
        None, "Maximum number of epochs of that CE run.", shown="the run's own", whole=1
    )
    validation_share: float = option(0.2, "Share of the examples used for validation.", below=1.0)
    validation_labels: str = option(
        "given",
        "Labels used to choose the epoch and the hyper-parameters: given, or clean if known.",
        names=("given", "clean"),
    )
    test_share: float = option(
        0.2, "Share of the examples used for testing if the data have no test part.", below=1.0
    )
    train_size: int | None = option(None, "Number of training examples to use.", shown="all", whole=2)
    data: str | None = None
    """Fingerprint of the data; set when training starts."""
    parent: str | None = None
    """Hash of the run that this one starts from; set when training starts."""

    def __post_init__(self) -> None:
        checked = {each.name: _checked(each, getattr(self, each.name)) for each in dataclasses.fields(self)}
        for name, value in {**checked, **self._checked_objects()}.items():
            object.__setattr__(self, name, value)
        for name in ("learning_rate", "parent_learning_rate"):
            if getattr(self, name) == 0:
                raise InputError(f"{name} is 0, so nothing would be learned: give a number above 0.")
        self._check_networks()

    def _checked_objects(self) -> dict[str, object]:
        from noiselimit.networks.pretrained import read_weights_file
        from noiselimit.noise import as_noise

        name = method_name(self.method)
        method = get_method(name)
        if not isinstance(self.hyper, Mapping):
            raise InputError(f"hyper is {self.hyper!r}: give a mapping such as {{'beta': 10}}.")
        foreign = set(self.hyper) - set(method.hyper)
        if foreign:
            raise InputError(
                f"{min(map(str, foreign))} is not a hyper-parameter of method '{name}', which takes "
                f"{', '.join(method.hyper) or 'none'}: leave it out."
            )
        hyper = {name: self.hyper.get(name, default) for name, default in method.hyper.items()}
        weights = self.initial_weights
        return {
            "method": name,
            "hyper": {
                name: number(name, value, at_least=0.0, below=FLOAT32) for name, value in hyper.items()
            },
            "noise": as_noise(self.noise),
            "transition": None if self.transition is None else as_noise(self.transition),
            "initial_weights": read_weights_file(weights) if isinstance(weights, str | Path) else weights,
        }

    def _check_networks(self) -> None:
        from noiselimit.networks import check_name, network_name

        for name in ("network", "predictor_network"):
            value = getattr(self, name)
            usual = "auto" if name == "network" else None
            if not (value is usual or (isinstance(value, str) and value == usual)):
                object.__setattr__(self, name, network_name(value))
                check_name(getattr(self, name))
        features: Any = self.predictor_features
        if callable(features):
            features = find(features) or Named.of(features)
        if features is not None and not is_dotted(features):
            raise InputError(
                f"predictor_features is {features!r}: give a path such as package.module:factory."
            )
        object.__setattr__(self, "predictor_features", features and canonical(features))

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property  # asked for once per run and epoch
    def hash(self) -> str:
        """16 hexadecimal digits of everything that determines the result."""
        if self.data is None or "auto" in (self.network, self.precision):
            raise InputError("this spec is not bound to data yet: call bind(spec, data) first.")
        # The schema is always included because it gives the omitted defaults their meaning.
        content = {"schema": SCHEMA, **_without_defaults(self)}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def code_paths(self) -> list[str]:
        """Names of networks and features that are not built in, sorted."""
        from noiselimit.networks import is_own

        networks = {self.network, self.predictor_network or self.network} - {"auto"}
        features = set() if self.predictor_features is None else {self.predictor_features}
        return sorted({name for name in networks if is_own(name)} | features)

    @property
    def names_code(self) -> bool:
        """Whether a network or its features are not built in."""
        return bool(self.code_paths)

    @property
    def key(self) -> str:
        """The whole spec as text; equal for equal specs, bound to data or not."""
        return json.dumps(_by_content(self.to_json()), sort_keys=True)

    @property
    def folder_name(self) -> str:
        """Name of the run's folder: readable, and unique because of the hash."""
        hyper = "".join(f"-{name}{value:g}" for name, value in self.hyper.items())
        return f"{self.method}{hyper}-seed{self.seed}-{self.hash}"

    def to_json(self) -> dict[str, Any]:
        """Return every field, defaults included, as plain JSON values."""
        from noiselimit.noise import noise_to_json

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
    def from_json(cls, value: Mapping[str, Any], source: str = "spec", *, trusted: bool = False) -> RunSpec:
        """Return the spec that `to_json` wrote; `source` names it in errors.

        A method or noise at a dotted path is imported if it is `trusted`; see `noiselimit.runs.known`.
        """
        from noiselimit.networks.pretrained import WeightsFile
        from noiselimit.noise import noise_from_json

        values = dict(value)
        schema = values.pop("schema", None)
        values.setdefault("precision", "float32")  # before there was a choice
        known = {f.name for f in dataclasses.fields(cls)}
        if schema != SCHEMA or not set(values) <= known or not isinstance(values.get("hyper"), dict):
            raise InputError(
                f"{source} is of another version of noiselimit (schema {schema}, not {SCHEMA}): install it."
            )
        try:
            read_noise = partial(noise_from_json, trusted=trusted)
            readers: dict[str, Any] = {"noise": read_noise, "transition": read_noise}
            for name, read in {**readers, "initial_weights": WeightsFile.from_json}.items():
                if values.get(name) is not None:
                    values[name] = read(values[name])
            replace_unknown(values, trusted)
            return cls(**values)
        except InputError as error:
            raise InputError(f"{source}: {error}") from None
        except (TypeError, AttributeError) as error:  # the file may hold anything
            raise InputError(f"{source} is damaged ({error}): train the run again.") from None


def _checked(each: dataclasses.Field[Any], value: Any) -> Any:
    """The value, converted to a number if its field holds one."""
    accepted = each.metadata
    if value is None and each.default is None:
        return None
    if "whole" in accepted:
        return _whole(each.name, value, accepted["whole"])
    if "below" in accepted:
        return number(each.name, value, at_least=0.0, below=accepted["below"])
    if "names" in accepted and value not in accepted["names"]:
        raise unknown(each.name, value, accepted["names"])
    return value


def architecture(spec: RunSpec, role: Role) -> Architecture:
    """Return how the classifier or the predictor of a bound run is built."""
    from noiselimit.networks import Architecture, Role

    if role is Role.CLASSIFIER:
        return Architecture(spec.network, spec.dropout, get_method(spec.method).head_bias)
    usual = spec.network if spec.predictor_features is None else "linear"
    return Architecture(spec.predictor_network or usual, spec.dropout, features=spec.predictor_features)


def setting(spec: RunSpec) -> RunSpec:
    """Return the spec without seed and parent: what runs that differ in their seed only share."""
    return dataclasses.replace(spec, seed=0, parent=None)


def problem(spec: RunSpec) -> RunSpec:
    """Return a spec with the data, noise and sizes only. Runs compare only if these are equal."""
    return RunSpec(
        data=spec.data,
        noise=spec.noise,
        validation_share=spec.validation_share,
        validation_labels=spec.validation_labels,
        test_share=spec.test_share,
        train_size=spec.train_size,
    )


def _without_defaults(spec: RunSpec) -> dict[str, Any]:
    # The first version knew no precision but float32.
    defaults = {**RunSpec(method=spec.method).to_json(), "precision": "float32"}
    values = {name: value for name, value in spec.to_json().items() if value != defaults[name]}
    hyper_defaults = get_method(spec.method).hyper
    hyper = {name: value for name, value in spec.hyper.items() if value != hyper_defaults[name]}
    return _by_content({**values, "method": spec.method, "hyper": hyper})


def _by_content(values: dict[str, Any]) -> dict[str, Any]:
    """Replace the name of a weights file by the hash of its content."""
    weights = values.get("initial_weights")
    return values if weights is None else {**values, "initial_weights": weights["sha256"]}


def _whole(name: str, value: Any, at_least: int) -> int:
    try:
        found = int(value)
        exact = not isinstance(value, bool) and (isinstance(value, str) or found == value)
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact or not at_least <= found < 2**63:
        raise InputError(f"{name} is {shown(value)}: give a whole number ≥ {at_least}.")
    return found


def grid(**choices: Any) -> list[RunSpec]:
    """Return the specs of all combinations of the choices.

    Parameters
    ----------
    **choices
        Fields of `RunSpec` and hyper-parameters of the methods, each a value or a list of values.

    Returns
    -------
    list of RunSpec
        In a stable order, without duplicates.

    Examples
    --------
    Three runs, because cross-entropy has no beta:

    >>> len(grid(method=["ce", "limit-l"], beta=[1, 10]))
    3
    """
    names = [method_name(method) for method in _values(choices.pop("method", RunSpec.method))]
    methods = {name: get_method(name) for name in names}
    hyper_names = {name for method in methods.values() for name in method.hyper}
    fields = {f.name for f in dataclasses.fields(RunSpec)} - {"method", "hyper", "data", "parent"}
    for name in choices:
        if name in fields | hyper_names:
            continue
        if any(name in method.hyper for method in METHODS.working()):
            given = " and ".join(methods)
            raise InputError(f"{name} is not a hyper-parameter of {given}: leave it out.")
        raise unknown("option", name, fields | hyper_names | {"method"})
    specs: dict[str, RunSpec] = {}
    for used, method in methods.items():
        names = [name for name in choices if name in fields or name in method.hyper]
        for values in itertools.product(*(_values(choices[name]) for name in names)):
            chosen = dict(zip(names, values, strict=True))
            hyper = {name: chosen.pop(name) for name in names if name in method.hyper}
            spec = RunSpec(method=used, hyper=hyper, **chosen)
            specs.setdefault(spec.key, spec)
    return list(specs.values())


def refuse_idle(specs: Sequence[RunSpec], names: Iterable[str]) -> None:
    """Refuse settings, by their `names`, that have no effect on any of the runs."""
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
            raise InputError(f"{name} has no effect on these runs: leave it out, or choose {remedy}.")


def _values(choice: Any) -> list[Any]:
    """The choice as a list; an array is a list of Python numbers, a matrix one value."""
    values = choice.tolist() if getattr(choice, "ndim", 2) < 2 else choice
    return list(values) if isinstance(values, list | tuple | range) else [values]
