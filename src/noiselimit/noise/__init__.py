"""Label noise: ways to replace labels by wrong ones, with a seed and without touching the original."""

from noiselimit.noise.base import Noise
from noiselimit.noise.given import GivenNoise
from noiselimit.noise.instance import InstanceNoise
from noiselimit.noise.kinds import NOISES, as_noise, noise_from_json, noise_to_json, parse_noise
from noiselimit.noise.matrix import MatrixNoise
from noiselimit.noise.none import NoNoise
from noiselimit.noise.pair import PairNoise
from noiselimit.noise.preview import Preview, preview, preview_classes
from noiselimit.noise.symmetric import SymmetricNoise
from noiselimit.noise.uniform import UniformNoise

__all__ = [
    "NOISES",
    "GivenNoise",
    "InstanceNoise",
    "MatrixNoise",
    "NoNoise",
    "Noise",
    "PairNoise",
    "Preview",
    "SymmetricNoise",
    "UniformNoise",
    "as_noise",
    "noise_from_json",
    "noise_to_json",
    "parse_noise",
    "preview",
    "preview_classes",
]
