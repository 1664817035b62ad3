"""A preview counts the noisy labels and gives the expected rates; bits against closed forms."""

import numpy as np
import pytest

from noiselimit.data.examples import make_examples
from noiselimit.noise import InstanceNoise, UniformNoise, parse_noise, preview, preview_classes

LABELS = np.array([0] * 6 + [1] * 3 + [2] * 1)


def thousand(**more):
    return make_examples(np.random.default_rng(0).normal(size=(1000, 2)), np.tile(LABELS, 100), **more)


def names(count):
    return [str(number) for number in range(count)]


def binary_entropy(p):
    return -sum(q * np.log2(q) for q in (p, 1 - p) if q > 0)


@pytest.mark.parametrize(
    ("text", "wrong", "bits"),
    [
        ("none", 0, 0),
        ("uniform:0.5", 0.5, 1.5),
        ("symmetric:1", 2 / 3, np.log2(3)),
        ("pair:0>1:0.5", 0.5 / 3, 1 / 3),
    ],
)
def test_classes_without_data(text, wrong, bits):
    found = preview_classes(names(3), parse_noise(text))
    assert found.expected_wrong == pytest.approx(wrong)
    assert found.bits == pytest.approx(bits)
    assert found.counts is None
    assert found.wrong is None
    assert found.rates is found.expected


def test_counts_and_rates():
    examples = thousand()
    found = preview(examples, UniformNoise(0.4), seed=2)
    noisy = UniformNoise(0.4).draw(examples, 2)
    for clean in range(3):
        for given_label in range(3):
            here = (examples.labels == clean) & (noisy == given_label)
            assert found.counts[clean, given_label] == here.sum()
    assert np.allclose(found.rates.sum(axis=1), 1)
    assert found.wrong == pytest.approx((noisy != examples.labels).mean())
    assert abs(found.wrong - 0.4) < 5 * np.sqrt(0.24 / 1000)  # five standard deviations
    assert found.expected_wrong == pytest.approx(0.4)
    assert np.allclose(
        found.wrong_by_class, [1 - found.counts[i, i] / found.counts[i].sum() for i in range(3)]
    )
    assert np.allclose(found.expected, UniformNoise(0.4).transition(names(3)))
    assert not found.bits_are_estimated


def test_bits_of_instance_noise():
    examples = thousand()
    flips, _ = InstanceNoise(0.3).flips(examples, 4)
    found = preview(examples, InstanceNoise(0.3), 4)
    assert found.bits == pytest.approx(np.mean([binary_entropy(p) for p in flips]))
    assert found.bits < binary_entropy(0.3)  # less than if every example were hit alike
    assert found.expected_wrong == pytest.approx(0.3, abs=1e-6)


def test_given_labels_have_only_an_estimate():
    examples = thousand()
    noisy = UniformNoise(0.4).draw(examples, 0)
    found = preview(thousand(label_sets={"worst": noisy}), parse_noise("given:worst"), seed=0)
    assert found.bits_are_estimated
    assert found.expected is None
    assert found.expected_wrong is None
    assert found.wrong == pytest.approx((noisy != examples.labels).mean())
    model = preview(examples, UniformNoise(0.4), seed=0)
    assert np.array_equal(found.counts, model.counts)
    assert found.bits == pytest.approx(model.bits, abs=0.1)


def test_labels_that_were_wrong_before_count_from_the_clean_ones():
    noisy = UniformNoise(0.4).apply(thousand(), seed=1)
    found = preview(noisy, parse_noise("none"), seed=0)
    assert found.wrong == found.expected_wrong == pytest.approx(noisy.wrong.mean())
    assert found.bits_are_estimated
    assert found.bits > 1


def test_a_class_that_no_clean_label_has():
    examples = make_examples(np.zeros((4, 1)), [0, 1, 2, 2], clean_labels=[0, 1, 1, 1])
    found = preview(examples, parse_noise("none"), seed=0)
    assert np.isnan(found.rates[2]).all()
    assert np.isnan(found.wrong_by_class[2])
    assert found.wrong == found.expected_wrong == pytest.approx(0.5)
    assert found.bits == pytest.approx(0.75 * binary_entropy(1 / 3))
