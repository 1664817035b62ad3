"""The estimated number of wrong labels, and agreement compared with chance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.audit import quality as chunked
from noiselimit.audit.noise_rate import Agreement, agreement, estimate_noise_rate, gap_threshold, wilson
from noiselimit.audit.quality import measure


def posterior(
    kind: str, rate: float, seed: int, rows: int = 3000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities [n, 6] of a good predictor of noisy labels, those labels, and the clean ones."""
    generator = np.random.default_rng(seed)
    other = np.ones((6, 6)) / 5 if kind == "uniform" else np.roll(np.eye(6), 1, 1)
    noise = (1 - rate) * np.eye(6) + rate * other * (1 - np.eye(6))
    clean = generator.integers(6, size=rows)
    x = 4 * (4.0 * np.eye(6)[clean] + generator.normal(size=(rows, 6)))
    p = np.exp(x - x.max(1, keepdims=True))
    p = p / p.sum(1, keepdims=True) @ noise
    labels = (generator.random(rows)[:, None] > np.cumsum(noise[clean], 1)).sum(1).clip(0, 5)
    return p.astype(np.float32), labels, clean


@pytest.mark.parametrize(
    ("kind", "rate"), [("uniform", 0.0), ("uniform", 0.05), ("uniform", 0.2), ("uniform", 0.4), ("pair", 0.3)]
)
def test_the_estimate_is_close_and_its_interval_holds_the_truth(kind: str, rate: float) -> None:
    p, labels, clean = posterior(kind, rate, 0)
    truth = float((labels != clean).mean())
    found = estimate_noise_rate(p, measure(p, labels))
    assert abs(found.rate - truth) < 0.02
    assert found.interval[0] <= truth <= found.interval[1]
    counted = np.zeros((6, 6))
    np.add.at(counted, (clean, labels), 1)
    np.testing.assert_allclose(found.transition, counted / counted.sum(1, keepdims=True), atol=0.05)


def test_a_single_wrong_label_is_found_though_all_others_are_surer() -> None:
    p = np.full((40, 2), [0.9999, 0.0001], np.float32)
    p[20:] = p[20:, ::-1]
    labels = np.repeat([0, 1], 20)
    labels[3], p[3] = 1, [0.995, 0.005]
    assert estimate_noise_rate(p, measure(p, labels)).wrong == 1


@settings(max_examples=50, deadline=None)
@given(
    rows=st.integers(2, 60), classes=st.integers(2, 6), seed=st.integers(0, 2**20), power=st.floats(0.2, 10)
)
def test_it_is_consistent_for_any_probabilities(rows: int, classes: int, seed: int, power: float) -> None:
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.ones(classes), rows) ** power
    p /= p.sum(1, keepdims=True)
    labels = generator.integers(classes, size=rows)
    quality = measure(p, labels)
    found = estimate_noise_rate(p, quality)
    low, high = found.interval
    assert 0 <= low <= found.rate <= high <= 1
    assert found.joint.min() >= 0
    np.testing.assert_allclose(found.joint.sum(1), np.bincount(labels, minlength=classes) / rows, atol=1e-12)
    np.testing.assert_allclose(found.transition.sum(1), 1, atol=1e-12)
    assert found.joint.sum() - np.trace(found.joint) <= found.rate + 0.5 / rows + 1e-12
    assert (quality.gap >= gap_threshold(found, quality)).sum() >= found.wrong
    order = generator.permutation(rows)
    again = estimate_noise_rate(p[order], measure(p[order], labels[order]))
    assert (again.wrong, again.interval) == (found.wrong, pytest.approx(found.interval, abs=1e-12))


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    p, labels, _ = posterior("uniform", 0.2, 2, rows=500)
    whole = measure(p, labels)
    joint = estimate_noise_rate(p, whole).joint
    monkeypatch.setattr(chunked, "CHUNK", 50)
    for name, value in vars(measure(p, labels)).items():
        np.testing.assert_array_equal(value, getattr(whole, name))
    np.testing.assert_array_equal(estimate_noise_rate(p, whole).joint, joint)


def test_a_class_without_labels_takes_no_part() -> None:
    p = np.tile([0.1, 0.8, 0.1], (10, 1))
    found = estimate_noise_rate(p, measure(p, np.array([0, 2] * 5)))
    assert found.joint[:, 1].sum() == 0
    np.testing.assert_array_equal(found.transition[1], [0, 1, 0])


@given(of=st.integers(1, 10**6))
def test_wilson_is_the_textbook_interval(of: int) -> None:
    assert wilson(5, 10) == pytest.approx((0.23659, 0.76341), abs=1e-5)
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(0, of)[0] == 0.0
    assert wilson(of, of)[1] == 1.0


labels = st.lists(st.integers(0, 3), min_size=1, max_size=40)


@given(labels, st.integers(0, 3))
def test_predicting_one_class_is_no_better_than_chance(given_labels: list[int], always: int) -> None:
    found = agreement(np.full(len(given_labels), always), np.array(given_labels), 4)
    assert found.share == pytest.approx(found.chance)
    assert found.beyond_chance == pytest.approx(0)
    assert found.low <= found.chance


@given(labels, st.integers(0, 2**20))
def test_chance_is_the_mean_over_shuffled_labels(given_labels: list[int], seed: int) -> None:
    shuffled = np.array(given_labels)
    predicted = np.random.default_rng(seed).integers(0, 4, len(shuffled))
    shares = [agreement(predicted, np.roll(shuffled, turn), 4).share for turn in range(len(shuffled))]
    assert agreement(predicted, shuffled, 4).chance == pytest.approx(np.mean(shares))


def test_more_examples_and_fewer_settings_give_more_certainty() -> None:
    assert Agreement(0.7, 0.5, 10).low < 0.5 < Agreement(0.7, 0.5, 100).low < 0.7
    assert Agreement(0.7, 0.5, 100, 3).low < Agreement(0.7, 0.5, 100).low
    assert agreement(np.zeros(3, int), np.zeros(3, int), 2).beyond_chance == 0
