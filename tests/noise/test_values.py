"""Noise of numbers."""

import numpy as np
import pytest

from noiselimit import InputError, make_values
from noiselimit.noise import noise_from_json, noise_to_json, parse_noise
from noiselimit.noise.values import VALUE_NOISES

KINDS = [kind.kind for kind in VALUE_NOISES]


def examples(count: int = 4000):
    generator = np.random.default_rng(0)
    return make_values(generator.normal(size=(count, 2)), generator.normal(200, 7, count))


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_changes_and_the_rest_stays(kind) -> None:
    noise, clean = parse_noise(f"{kind}:0.3"), examples()
    noisy = noise.apply(clean, seed=1)
    assert noisy.wrong is not None
    assert noisy.wrong.mean() == pytest.approx(0.3, abs=0.03)
    np.testing.assert_array_equal(noisy.clean_labels, clean.labels)
    np.testing.assert_array_equal(noise.apply(clean, seed=1).labels, noisy.labels)
    assert (noise.apply(clean, seed=2).labels != noisy.labels).any()
    assert noise_from_json(noise_to_json(noise)) == noise
    assert not parse_noise(f"{kind}:0").apply(clean, seed=1).wrong.any()


def test_each_kind_does_what_its_name_says() -> None:
    clean = examples()

    def wrong(kind: str):
        noisy = parse_noise(f"{kind}:0.3").apply(clean, seed=1)
        return clean.labels[noisy.wrong], noisy.labels[noisy.wrong]

    before, after = wrong("outliers")
    off = np.abs(after - before) / clean.task.scale
    assert off.min() >= 2
    assert off.max() <= 8
    before, after = wrong("unit")
    assert set(np.log10(after / before).round(9)) == {-3, -2, -1, 1, 2, 3}
    for kind in ("swap", "shuffle"):
        before, after = wrong(kind)
        np.testing.assert_array_equal(np.sort(before), np.sort(after))
    before, after = wrong("round")
    assert np.abs(after - before).max() <= clean.task.scale / 8 + 1e-9


def test_numbers_have_no_class_noise() -> None:
    with pytest.raises(InputError, match="regression"):
        parse_noise("pair:a>b:0.3").apply(examples(), seed=0)
