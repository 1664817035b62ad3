"""The table of noises, and how they are written on the command line and in a run's spec."""

import json
from typing import Any

import numpy as np

from noiselimit.errors import InputError, unknown
from noiselimit.noise.base import Noise
from noiselimit.noise.given import GivenNoise
from noiselimit.noise.instance import InstanceNoise
from noiselimit.noise.matrix import MatrixNoise
from noiselimit.noise.none import NoNoise
from noiselimit.noise.pair import PairNoise
from noiselimit.noise.symmetric import SymmetricNoise
from noiselimit.noise.uniform import UniformNoise

# A new noise is a new file beside this one and a line here.
NOISES: dict[str, type[Noise]] = {
    noise.kind: noise
    for noise in (
        NoNoise,
        UniformNoise,
        SymmetricNoise,
        PairNoise,
        MatrixNoise,
        InstanceNoise,
        GivenNoise,
    )
}

NoiseJson = str | dict[str, Any]


def parse_noise(text: str) -> Noise:
    """The noise that a user types, such as none, uniform:0.8, pair:cat>dog:0.4 or matrix:FILE."""
    kind, _, argument = text.strip().partition(":")
    return _find_kind(kind).from_text(argument)


def as_noise(value: object) -> Noise:
    """A noise as people give it in Python: itself, its text, or a transition matrix."""
    if isinstance(value, Noise):
        return value
    if isinstance(value, str):
        return parse_noise(value)
    if isinstance(value, np.ndarray | list | tuple):
        return MatrixNoise(value)
    raise InputError(f"noise is {value!r}: give text such as 'uniform:0.4', a matrix or a Noise.")


def noise_to_json(noise: Noise) -> NoiseJson:
    """'none', 'uniform:0.8' or {'matrix': [[…], …]}: what a run's hash covers, equal for equal noises.

    No file is needed to read it back; of given labels it keeps the digest.
    """
    parameter = noise.parameter
    if isinstance(parameter, list | dict | str):
        return {noise.kind: parameter}
    return noise.kind if parameter is None else f"{noise.kind}:{json.dumps(parameter)}"


def noise_from_json(value: object) -> Noise:
    """The inverse of `noise_to_json`; it opens no file, whatever the value says."""
    if isinstance(value, dict) and len(value) == 1:
        kind, parameter = next(iter(value.items()))
        return _find_kind(str(kind)).from_parameter(parameter)
    if isinstance(value, str):
        kind, _, argument = value.partition(":")
        return _find_kind(kind).from_parameter(_number(argument) if argument else None)
    raise InputError(f"noise {value!r} is not understood; write none, uniform:P or {{'matrix': rows}}.")


def _find_kind(kind: str) -> type[Noise]:
    if kind not in NOISES:
        raise unknown("noise", kind, NOISES)
    return NOISES[kind]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"noise value '{text}' is not a number; correct it in the spec.") from None
