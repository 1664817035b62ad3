"""Noise of numbers, for regression: outliers, wrong units, swapped and shuffled labels, rounding."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Labels
from noiselimit.data.examples import Examples
from noiselimit.noise.base import ProbabilityNoise
from noiselimit.randomness import Stream, permutation, uniforms
from noiselimit.tasks.regression import Regression

Floats = npt.NDArray[np.float64]

CHOSEN, SIZES, ORDER = 0, 1, 2  # steps of the noise stream
NEAR, FAR = 2.0, 8.0  # how far outliers are off, in units of the labels' spread
UNITS = (0.001, 0.01, 0.1, 10.0, 100.0, 1000.0)
GRAINS = 4  # values per spread that rounding leaves


@dataclass(frozen=True)
class ValueNoise(ProbabilityNoise):
    """Noise of regression that changes each label with one probability."""

    task: ClassVar[str] = "regression"

    def draw(self, examples: Examples, seed: int) -> Labels:
        labels = np.asarray(examples.labels, np.float64)
        assert isinstance(examples.task, Regression)
        chosen = uniforms(seed, Stream.NOISE, CHOSEN, len(labels)) < self.probability
        return np.where(chosen, self.change(labels, chosen, examples.task, seed), labels)

    @abstractmethod
    def change(self, labels: Floats, chosen: npt.NDArray[np.bool_], task: Regression, seed: int) -> Floats:
        """The wrong labels [n], of which those of the `chosen` examples are used."""


@dataclass(frozen=True)
class OutlierNoise(ValueNoise):
    """A label moves up or down by two to eight times the spread of all labels."""

    kind: ClassVar[str] = "outliers"

    def change(self, labels: Floats, chosen: npt.NDArray[np.bool_], task: Regression, seed: int) -> Floats:
        place = 2 * uniforms(seed, Stream.NOISE, SIZES, len(labels)) - 1
        return labels + np.sign(place) * (NEAR + (FAR - NEAR) * np.abs(place)) * task.scale


@dataclass(frozen=True)
class UnitNoise(ValueNoise):
    """A label is in a wrong unit: 10, 100 or 1,000 times too large or too small."""

    kind: ClassVar[str] = "unit"

    def change(self, labels: Floats, chosen: npt.NDArray[np.bool_], task: Regression, seed: int) -> Floats:
        place = uniforms(seed, Stream.NOISE, SIZES, len(labels)) * len(UNITS)
        return np.asarray(labels * np.array(UNITS)[place.astype(np.int64)])


@dataclass(frozen=True)
class SwapNoise(ValueNoise):
    """Labels of neighbouring rows are exchanged, as when a column slips."""

    kind: ClassVar[str] = "swap"

    def change(self, labels: Floats, chosen: npt.NDArray[np.bool_], task: Regression, seed: int) -> Floats:
        rows = np.flatnonzero(chosen)
        pairs = rows[: len(rows) // 2 * 2].reshape(-1, 2)
        swapped = labels.copy()
        swapped[pairs] = labels[pairs[:, ::-1]]
        return swapped


@dataclass(frozen=True)
class ShuffleNoise(ValueNoise):
    """A label becomes that of another example, drawn at random among those that change."""

    kind: ClassVar[str] = "shuffle"

    def change(self, labels: Floats, chosen: npt.NDArray[np.bool_], task: Regression, seed: int) -> Floats:
        rows = np.flatnonzero(chosen)
        order = rows[permutation(seed, Stream.NOISE, ORDER, len(rows))]
        shuffled = labels.copy()
        shuffled[order] = labels[np.roll(order, 1)]
        return shuffled


@dataclass(frozen=True)
class RoundNoise(ValueNoise):
    """A label is rounded to a coarse grid, four values per spread."""

    kind: ClassVar[str] = "round"

    def change(self, labels: Floats, chosen: npt.NDArray[np.bool_], task: Regression, seed: int) -> Floats:
        grain = task.scale / GRAINS
        return np.asarray(np.round(labels / grain) * grain)


VALUE_NOISES = (OutlierNoise, UnitNoise, SwapNoise, ShuffleNoise, RoundNoise)
