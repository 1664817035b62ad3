"""How many labels are wrong: close on noise that was put there, next to nothing on clean labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.audit import quality as pieces_of
from noiselimit.audit.noise_rate import estimate_noise_rate, gap_threshold, wilson
from noiselimit.audit.quality import measure


def posterior(
    kind: str, rate: float, seed: int, rows: int = 3000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities [n, 6] of a good predictor of noisy labels, those labels, and the right ones."""
    generator = np.random.default_rng(seed)
    classes = 6
    other = np.ones((6, 6)) / 5 if kind == "uniform" else np.roll(np.eye(6), 1, 1)
    noise = (1 - rate) * np.eye(6) + rate * other * (1 - np.eye(6))
    right = generator.integers(classes, size=rows)
    x = 4.0 * np.eye(classes)[right] + generator.normal(size=(rows, classes))
    clean = np.exp(4 * x - (4 * x).max(1, keepdims=True))
    p = clean / clean.sum(1, keepdims=True) @ noise
    labels = (generator.random(rows)[:, None] > np.cumsum(noise[right], 1)).sum(1).clip(0, 5)
    return p.astype(np.float32), labels, right


@pytest.mark.parametrize(
    ("kind", "rate"), [("uniform", 0.05), ("uniform", 0.2), ("uniform", 0.4), ("pair", 0.3)]
)
def test_the_estimate_is_close_and_its_interval_holds_the_truth(kind: str, rate: float) -> None:
    p, labels, right = posterior(kind, rate, 0)
    truth = float((labels != right).mean())
    found = estimate_noise_rate(p, measure(p, labels))
    assert abs(found.rate - truth) < 0.02
    assert found.interval[0] <= truth <= found.interval[1]
    counted = np.zeros((6, 6))
    np.add.at(counted, (right, labels), 1)
    np.testing.assert_allclose(found.transition, counted / counted.sum(1, keepdims=True), atol=0.05)


def test_one_wrong_label_among_right_ones_is_found_though_all_others_are_surer() -> None:
    p = np.full((40, 2), [0.9999, 0.0001], np.float32)
    p[20:] = p[20:, ::-1]
    labels = np.repeat([0, 1], 20)
    labels[3], p[3] = 1, [0.995, 0.005]
    assert estimate_noise_rate(p, measure(p, labels)).wrong == 1


def test_clean_labels_are_left_alone() -> None:
    p, labels, _ = posterior("uniform", 0.0, 1)
    assert estimate_noise_rate(p, measure(p, labels)).rate <= 0.01


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
    # The confident joint counts fractions of examples, the estimate whole ones.
    assert found.joint.sum() - np.trace(found.joint) <= found.rate + 0.5 / rows + 1e-12
    flagged = (quality.gap >= gap_threshold(found, quality)).sum()
    assert flagged >= found.wrong
    order = generator.permutation(rows)
    again = estimate_noise_rate(p[order], measure(p[order], labels[order]))
    assert (again.wrong, again.interval) == (found.wrong, pytest.approx(found.interval, abs=1e-12))


def test_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    p, labels, _ = posterior("uniform", 0.2, 2, rows=500)
    whole = estimate_noise_rate(p, measure(p, labels))
    monkeypatch.setattr(pieces_of, "CHUNK", 50)
    parts = estimate_noise_rate(p, measure(p, labels))
    assert parts.wrong == whole.wrong
    np.testing.assert_array_equal(parts.joint, whole.joint)


def test_a_class_nobody_was_given_takes_no_part() -> None:
    p = np.tile([0.1, 0.8, 0.1], (10, 1))
    labels = np.array([0, 2] * 5)
    found = estimate_noise_rate(p, measure(p, labels))
    assert found.joint[:, 1].sum() == 0
    np.testing.assert_array_equal(found.transition[1], [0, 1, 0])


def test_wilson_is_the_textbook_interval() -> None:
    assert wilson(0, 10) == pytest.approx((0.0, 0.27753), abs=1e-5)
    assert wilson(5, 10) == pytest.approx((0.23659, 0.76341), abs=1e-5)
    assert wilson(0, 0) == (0.0, 1.0)


@given(of=st.integers(1, 10**6))
def test_wilson_reaches_both_ends(of: int) -> None:
    assert wilson(0, of)[0] == 0.0
    assert wilson(of, of)[1] == 1.0
