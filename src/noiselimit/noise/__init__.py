"""Label noise: replace labels with wrong ones, from a seed, without changing the original.

A new kind of noise is a class in a file of this folder, imported here and listed in NOISES. Yours can be in
any module: see `noiselimit.registry`.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from noiselimit.data.arrays import Labels
from noiselimit.data.examples import Examples
from noiselimit.dotted import Named, is_dotted, load
from noiselimit.errors import InputError, unknown
from noiselimit.noise.base import Noise as Noise
from noiselimit.noise.base import NoNoise as NoNoise
from noiselimit.noise.base import SymmetricNoise as SymmetricNoise
from noiselimit.noise.base import UniformNoise as UniformNoise
from noiselimit.noise.base import parse_number
from noiselimit.noise.given import GivenNoise as GivenNoise
from noiselimit.noise.instance import InstanceNoise as InstanceNoise
from noiselimit.noise.matrix import MatrixNoise as MatrixNoise
from noiselimit.noise.pair import PairNoise as PairNoise
from noiselimit.noise.preview import Preview as Preview
from noiselimit.noise.preview import preview as preview
from noiselimit.noise.preview import preview_classes as preview_classes
from noiselimit.noise.values import VALUE_NOISES
from noiselimit.registry import Registry

NOISES: Registry[type[Noise]] = Registry(
    "noise",
    "noiselimit.noises",
    "noiselimit.noise.NOISES",
    {
        kind.kind: kind
        for kind in (
            *(NoNoise, UniformNoise, SymmetricNoise, PairNoise, MatrixNoise, InstanceNoise, GivenNoise),
            *VALUE_NOISES,
        )
    },
    lambda value: isinstance(value, type) and issubclass(value, Noise),
    "a subclass of noiselimit.noise.Noise",
)


@dataclass(frozen=True)
class UnknownNoise(Noise):
    """The noise of a run whose code is not here: the run can be read, but the noise cannot be drawn."""

    kind: str  # type: ignore[misc]
    value: Any

    @property
    def parameter(self) -> Any:
        return self.value

    def draw(self, examples: Examples, seed: int) -> Labels:
        raise InputError(
            f"noise '{self.kind}' is not known here: install its package, add it with "
            "noiselimit.noise.NOISES.register, or trust the run that names it."
        )


def parse_noise(text: str) -> Noise:
    """Parse what a user types, such as none, uniform:0.8, pair:cat>dog:0.4 or my_package.MyNoise:0.3."""
    kind, _, argument = text.strip().partition(":")
    if kind not in NOISES and not is_dotted(kind):
        raise unknown("noise", kind, NOISES)
    return _load(kind).from_text(argument)


def _load(kind: str) -> type[Noise]:
    found: Any = load("noise", kind)
    if not isinstance(found, type) or not issubclass(found, Noise):
        raise InputError(f"noise '{kind}' is {found!r}: it must be a subclass of noiselimit.noise.Noise.")
    return found


def noise_kind(noise: Noise) -> str:
    """What a spec calls the noise: its name, or the dotted path 'package.module.Class' of its class."""
    if isinstance(noise, UnknownNoise):
        return noise.kind
    name = NOISES.name_of(type(noise))
    return name if isinstance(name, Named) else name.replace(":", ".")


def as_noise(value: object) -> Noise:
    """Return the noise that a Python user means: a Noise, its text or a transition matrix."""
    if isinstance(value, Noise):
        return value
    if isinstance(value, str):
        return parse_noise(value)
    if isinstance(value, np.ndarray | list | tuple):
        return MatrixNoise(value)
    raise InputError(f"noise is {value!r}: give text such as 'uniform:0.4', a matrix or a Noise.")


def noise_to_json(noise: Noise) -> str | dict[str, Any]:
    """Return 'none', 'uniform:0.8' or {'matrix': [[…], …]}: what a run's hash covers.

    Equal noises have equal JSON. Reading it back needs no file; of given labels it has the digest only.
    """
    kind, parameter = str(noise_kind(noise)), noise.parameter
    if isinstance(parameter, list | dict | str):
        return {kind: parameter}
    return kind if parameter is None else f"{kind}:{json.dumps(parameter)}"


def noise_from_json(value: object, *, trusted: bool = False) -> Noise:
    """Invert `noise_to_json`. It opens no file, and imports what a path names only if that is `trusted`."""
    parameter: object
    if isinstance(value, dict) and len(value) == 1:
        ((kind, parameter),) = value.items()
    elif isinstance(value, str):
        kind, _, text = value.partition(":")
        parameter = parse_number(kind, text)
    else:
        raise InputError(f"noise {value!r} is not valid: write none, uniform:P or {{'matrix': rows}}.")
    if kind not in NOISES and not (trusted and is_dotted(kind)):
        return UnknownNoise(kind, parameter)
    return _load(kind).from_parameter(parameter)
