"""Label noise: replace labels with wrong ones, from a seed, without changing the original.

A new kind of noise is a class in a file of this folder, imported here and listed in NOISES.
"""

import json
from typing import Any

import numpy as np

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

NOISES: dict[str, type[Noise]] = {
    kind.kind: kind
    for kind in (NoNoise, UniformNoise, SymmetricNoise, PairNoise, MatrixNoise, InstanceNoise, GivenNoise)
}


def parse_noise(text: str) -> Noise:
    """Parse what a user types, such as none, uniform:0.8, pair:cat>dog:0.4 or matrix:FILE."""
    kind, _, argument = text.strip().partition(":")
    if kind not in NOISES:
        raise unknown("noise", kind, NOISES)
    return NOISES[kind].from_text(argument)


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
    parameter = noise.parameter
    if isinstance(parameter, list | dict | str):
        return {noise.kind: parameter}
    return noise.kind if parameter is None else f"{noise.kind}:{json.dumps(parameter)}"


def noise_from_json(value: object) -> Noise:
    """Invert `noise_to_json`. It opens no file, whatever the value is."""
    parameter: object
    if isinstance(value, dict) and len(value) == 1:
        ((kind, parameter),) = value.items()
    elif isinstance(value, str):
        kind, _, text = value.partition(":")
        parameter = parse_number(kind, text)
    else:
        raise InputError(f"noise {value!r} is not valid: write none, uniform:P or {{'matrix': rows}}.")
    if kind not in NOISES:
        raise unknown("noise", kind, NOISES, ", or add your own to noiselimit.noise.NOISES first")
    return NOISES[kind].from_parameter(parameter)
