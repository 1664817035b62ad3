"""Data that are drawn are what they are said to be, and others for another seed."""

import numpy as np
import pytest

from noiselimit.bench.detection.made_data import BAYES_ERROR, MADE, SHAPES, overlapping, shapes


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("breast_cancer", (569, 30), 2),
        ("wine", (178, 13), 3),
        ("overlapping", (3000, 10), 2),
        ("shapes", (600, 3, 24, 20), 3),
    ],
)
def test_sizes(name: str, shape: tuple[int, ...], classes: int) -> None:
    data = MADE[name](0)
    assert data.name == name
    assert data.examples.inputs.shape == shape
    assert data.examples.classes == classes
    assert data.examples.clean_labels is None
    assert MADE[name](0).fingerprint == data.fingerprint
    drawn = name in ("overlapping", "shapes")
    assert (MADE[name](1).fingerprint != data.fingerprint) == drawn


@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_classifier_errs_as_often_as_said(seed: int) -> None:
    """It goes by the sum of the features, whose sign tells the nearer centre."""
    examples = overlapping(seed).examples
    inputs = np.asarray(examples.inputs, np.float64)
    errs = (inputs.sum(1) > 0) != examples.labels
    assert errs.mean() == pytest.approx(BAYES_ERROR, abs=0.02)
    for label in (0, 1):
        own = inputs[examples.labels == label]
        assert np.abs(np.cov(own.T) - np.eye(inputs.shape[1])).max() < 0.15


def test_shapes_differ_in_their_outline_only() -> None:
    """The bright part is about as large in every class, and is what its class is called."""
    examples = shapes(0).examples
    assert examples.class_names == SHAPES
    bright = np.asarray(examples.inputs).mean(1) > 127  # [n, height, width]
    areas = [float(bright[examples.labels == label].mean()) for label in range(3)]
    assert max(areas) < 1.25 * min(areas)
    means = np.stack([bright[examples.labels == label].mean(0) for label in range(3)])
    corner = means[:, 12 - 5, 10 - 5] / means[:, 12, 10]  # five off the middle both ways: in squares most
    assert corner.argmax() == SHAPES.index("square")
    assert corner.argmin() == SHAPES.index("cross")
