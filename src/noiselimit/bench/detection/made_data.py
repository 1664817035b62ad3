"""Data by which nothing in the audit was selected: small tables, classes that overlap, coloured pictures.

Those that are drawn are drawn anew for every seed of a problem.
"""

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.data.examples import DataSet, make_examples
from noiselimit.randomness import Stream, uniforms

Floats = npt.NDArray[np.float64]
OWN_SEEDS = 2**40
"""Added to a problem's seed: nothing that trains draws the same numbers."""
BAYES_ERROR = 0.1
"""Of `overlapping`: as often even who knows both distributions would name the other class."""
ROWS, FEATURES = 3000, 10
NORMAL = NormalDist()
CLOUDS, CLOUD_ROWS, CLOUD_FEATURES, CLOUD_SPREAD = 3, 600, 6, 3.0
PICTURES, HEIGHT, WIDTH = 600, 24, 20
SHIFT, NOISE = 1.5, 0.4
SHAPES = ("disc", "square", "cross")


def breast_cancer(seed: int) -> DataSet:
    """569 rows × 30 features, 2 classes: comes with scikit-learn, whatever the seed."""
    from sklearn.datasets import load_breast_cancer

    return _table("breast_cancer", load_breast_cancer())


def wine(seed: int) -> DataSet:
    """178 rows × 13 features, 3 classes: comes with scikit-learn, whatever the seed."""
    from sklearn.datasets import load_wine

    return _table("wine", load_wine())


def overlapping(seed: int) -> DataSet:
    """3,000 rows × 10 features of two equally likely Gaussians with covariance 1, so near each other that the
    best possible classifier errs in BAYES_ERROR of the cases. Labels say which one a row was drawn from: all
    of them are right, however unlikely."""
    labels = (_draw(seed, 0, ROWS) < 0.5).astype(np.int64)
    normal = _normal(seed, 1, ROWS, FEATURES)
    distance = -2 * NORMAL.inv_cdf(BAYES_ERROR)
    side = np.where(labels == 1, 0.5, -0.5)[:, np.newaxis]
    inputs = (normal + side * distance / np.sqrt(FEATURES)).astype(np.float32)
    return DataSet("overlapping", make_examples(inputs, labels, source="overlapping"))


def clouds(seed: int) -> DataSet:
    """600 rows × 6 features of three Gaussians with covariance 1 that hardly overlap: easy, and with so few
    rows the share of wrong labels among a fifth of them is not that of all."""
    labels = (_draw(seed, 0, CLOUD_ROWS) * CLOUDS).astype(np.int64)
    centres = CLOUD_SPREAD * _normal(seed, 1, CLOUDS, CLOUD_FEATURES)
    inputs = (_normal(seed, 2, CLOUD_ROWS, CLOUD_FEATURES) + centres[labels]).astype(np.float32)
    return DataSet("clouds", make_examples(inputs, labels, source="clouds"))


def shapes(seed: int) -> DataSet:
    """600 pictures [3, 24, 20] uint8 of a disc, a square or a cross on a darker ground: place, size, both
    colours and the noise over everything are drawn."""
    labels = (_draw(seed, 0, PICTURES) * len(SHAPES)).astype(np.int64)
    radius = HEIGHT * (0.18 + 0.1 * _draw(seed, 1, PICTURES)[:, np.newaxis, np.newaxis])
    shift = SHIFT * (2 * _draw(seed, 2, PICTURES, 2)[:, :, np.newaxis, np.newaxis] - 1)
    rows = np.arange(HEIGHT)[:, np.newaxis] - HEIGHT / 2 - shift[:, 0]
    columns = np.arange(WIDTH) - WIDTH / 2 - shift[:, 1]
    far, near = np.maximum(np.abs(rows), np.abs(columns)), np.minimum(np.abs(rows), np.abs(columns))
    inside = np.stack(  # about the same area each
        [
            rows**2 + columns**2 < radius**2,
            far < 0.886 * radius,
            (far < 1.2 * radius) & (near < 0.4 * radius),
        ]
    )[labels, np.arange(PICTURES)]
    behind, before = _draw(seed, 3, 2, PICTURES, 3, 1, 1) * 0.5 + [[[[[0.0]]]], [[[[0.5]]]]]
    colours = np.where(inside[:, np.newaxis], before, behind)
    noise = _draw(seed, 4, PICTURES, 3, HEIGHT, WIDTH) - 0.5
    pictures = np.clip(255 * (0.1 + 0.8 * colours + NOISE * noise), 0, 255).astype(np.uint8)
    return DataSet("shapes", make_examples(pictures, labels, class_names=SHAPES, source="shapes"))


MADE: dict[str, Callable[[int], DataSet]] = {
    "breast_cancer": breast_cancer,
    "wine": wine,
    "overlapping": overlapping,
    "clouds": clouds,
    "shapes": shapes,
}
"""Name → the data for a seed."""


def _table(name: str, bunch: Any) -> DataSet:
    names = [str(each) for each in bunch.target_names]
    return DataSet(name, make_examples(bunch.data, bunch.target, class_names=names, source=name))


def _draw(seed: int, what: int, *shape: int) -> Floats:
    """Uniforms in [0, 1); each `what` is independent of the others."""
    return uniforms(OWN_SEEDS + seed, Stream.SAMPLING, what, int(np.prod(shape))).reshape(shape)


def _normal(seed: int, what: int, *shape: int) -> Floats:
    """Standard normal numbers, likewise."""
    drawn = np.maximum(_draw(seed, what, int(np.prod(shape))), 2.0**-54)  # of 0 there is no quantile
    return np.array([NORMAL.inv_cdf(one) for one in drawn]).reshape(shape)
