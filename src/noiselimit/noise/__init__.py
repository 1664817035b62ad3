"""Label noise: ways to replace labels by wrong ones, with a seed and without touching the original."""

from noiselimit.noise.base import Noise
from noiselimit.noise.kinds import NOISES, as_noise, noise_from_json, noise_to_json, parse_noise
from noiselimit.noise.matrix import MatrixNoise
from noiselimit.noise.none import NoNoise
from noiselimit.noise.uniform import UniformNoise

__all__ = [
    "NOISES",
    "MatrixNoise",
    "NoNoise",
    "Noise",
    "UniformNoise",
    "as_noise",
    "noise_from_json",
    "noise_to_json",
    "parse_noise",
]
