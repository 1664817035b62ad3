"""Instance-dependent noise mislabels examples near a boundary more, at the given rate on average."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.examples import make_examples
from noiselimit.noise import InstanceNoise
from noiselimit.noise import instance as instance_module
from noiselimit.noise.instance import flip_probabilities, random_directions
from tests.engine.streamed_pictures import StreamedPictures

NOISE = InstanceNoise(0.4)


def pictures(count):
    return np.random.default_rng(1).integers(0, 256, size=(count, 3, 6, 5), dtype=np.uint8)


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=50),
    st.floats(0, 1) | st.sampled_from([1e-300, 1e-9, 1 - 1e-9, 1 - 2**-53]),
)
def test_flip_probabilities_have_the_given_mean(distances, mean):
    found = flip_probabilities(np.array(distances), mean)
    assert found.mean() == pytest.approx(mean, abs=1e-9)
    assert (found >= 0).all()
    assert (found <= 1).all()
    order = np.argsort(distances)
    assert (np.diff(found[order]) <= 1e-12).all()  # never more at a greater distance


def test_flips_go_to_the_class_across_the_nearest_boundary():
    """Against the definition, one example and one class at a time."""
    examples = make_examples(pictures(40), np.arange(40) % 4)
    probabilities, targets = NOISE.flips(examples, 5)
    drawn = random_directions(4, 3 * 6 * 5 + 1, 5)
    pixels = examples.inputs.astype(np.float64)
    mean, deviation = pixels.mean(axis=(0, 2, 3), keepdims=True), pixels.std(axis=(0, 2, 3), keepdims=True)
    standard = ((pixels - mean) / deviation).reshape(40, -1)
    nearest = []
    for row, label in enumerate(examples.labels):
        apart = np.delete(drawn[label] - drawn, label, axis=0)
        distances = np.abs(apart[:, :-1] @ standard[row] + apart[:, -1]) / np.linalg.norm(
            apart[:, :-1], axis=1
        )
        assert targets[row] == np.delete(np.arange(4), label)[distances.argmin()]
        nearest.append(distances.min())
    assert np.allclose(probabilities, flip_probabilities(np.array(nearest), 0.4))


def test_likely_flips_happen_more_and_lead_to_the_target(many):
    examples = many(20_000)
    probabilities, targets = NOISE.flips(examples, 0)
    noisy = NOISE.apply(examples, 0)
    assert np.array_equal(noisy.labels[noisy.wrong], targets[noisy.wrong])
    for some in (probabilities > 0.6, probabilities < 0.2):
        assert noisy.wrong[some].mean() == pytest.approx(probabilities[some].mean(), abs=0.05)


def test_lazy_images_give_the_same_labels_and_are_read_in_chunks(monkeypatch):
    examples = make_examples(pictures(101), np.arange(101) % 4)
    lazy = dataclasses.replace(examples, inputs=StreamedPictures(pictures(101)))
    wanted = NOISE.draw(examples, 0)
    monkeypatch.setattr(instance_module, "CHUNK", 10 * 90)
    assert np.array_equal(NOISE.draw(lazy, 0), wanted)
    assert lazy.inputs.most <= 10
