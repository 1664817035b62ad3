"""Memorised training examples are calibrated to held-out ones; others stay as they are."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, ks_2samp
from sklearn.metrics import roc_auc_score

from noiselimit.audit.calibration import (
    MIN_HELD_OUT,
    SIGNIFICANCE,
    TRUSTED,
    calibrate,
    off_label_mass,
    with_off_label_mass,
)

ROWS = np.arange(1_000)


def draw(count: int, wrong: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Off-label mass from a network that memorised nothing, and which labels are wrong."""
    generator = np.random.default_rng(seed)
    is_wrong = generator.random(count) < wrong
    return np.where(is_wrong, generator.beta(8, 3, count), generator.beta(2, 9, count)), is_wrong


def test_memorised_labels_regain_their_place() -> None:
    mass, wrong = draw(1_000, 0.2, 0)
    trained, held_out = ROWS[:800], ROWS[800:]
    memorised = mass.copy()
    memorised[trained] *= 0.15
    found = calibrate(memorised, trained, held_out)
    assert roc_auc_score(wrong, memorised) < 0.95
    assert roc_auc_score(wrong, found) == pytest.approx(roc_auc_score(wrong, mass), abs=0.003)
    assert np.mean(found[trained] > 0.5) == pytest.approx(np.mean(found[held_out] > 0.5), abs=0.005)
    np.testing.assert_array_equal(found[held_out], mass[held_out])


def test_nothing_changes_without_evidence() -> None:
    for seed in range(5):
        mass, _ = draw(1_000, 0.2, seed)
        trained, held_out = ROWS[200:], ROWS[:200]
        assert calibrate(mass, trained, held_out) is mass
        surer = mass.copy()  # held-out labels are doubted less
        surer[held_out] = np.where(surer[held_out] < 0.5, 0.2 * surer[held_out], surer[held_out])
        assert calibrate(surer, trained, held_out) is surer
    few = np.where(ROWS < MIN_HELD_OUT - 1, 1.0, 0.01)
    assert calibrate(few, ROWS[MIN_HELD_OUT - 1 :], ROWS[: MIN_HELD_OUT - 1]) is few
    tiny = np.where(ROWS % 5 == 0, 0.9, np.where(ROWS % 4 > 0, 1e-5, 0.5 * TRUSTED))
    assert calibrate(tiny, ROWS[ROWS % 4 > 0], ROWS[ROWS % 4 == 0]) is tiny


def test_a_few_contradicted_labels_are_evidence_if_all_are_held_out() -> None:
    mass = np.linspace(0.1, 0.3, 600)
    mass[480:492] = 0.9
    assert calibrate(mass, ROWS[:480], ROWS[480:600]) is not mass


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(50, 300), st.integers(MIN_HELD_OUT, 300), st.booleans())
def test_calibration_keeps_order_and_ties(seed: int, trained: int, apart: int, ties: bool) -> None:
    generator = np.random.default_rng(seed)
    mass = np.concatenate([generator.beta(1, 20, trained), generator.beta(2, 2, apart)])
    mass = mass.round(2) if ties else mass
    rows = np.arange(trained)
    found = calibrate(mass, rows, np.arange(trained, trained + apart))[rows]
    order = np.argsort(mass[rows], kind="stable")
    steps = np.diff(found[order])
    assert (steps >= 0).all()
    assert (steps[np.diff(mass[rows][order]) == 0] == 0).all()
    assert 0 <= found.min() <= found.max() <= 1


@given(st.integers(0, 2**32), st.integers(1, 200), st.integers(MIN_HELD_OUT, 200))
def test_the_tests_are_those_of_scipy(seed: int, trained: int, apart: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = (generator.beta(2, generator.uniform(2, 9), count) for count in (trained, apart))
    mass = TRUSTED + (1 - TRUSTED) * np.concatenate([first, second])
    rows, held_out = np.arange(trained), np.arange(trained, trained + apart)
    surer = ks_2samp(mass[rows], mass[held_out], alternative="greater", method="asymp").statistic
    limit = math.sqrt(-math.log(SIGNIFICANCE / 2) / 2 * (1 / trained + 1 / apart))
    counts = (mass > 0.5)[held_out].sum(), max((mass > 0.5).sum(), 1)
    fewer = binomtest(*map(int, counts), apart / (trained + apart), alternative="greater").pvalue
    memorised = surer > limit or fewer < SIGNIFICANCE / 2
    assert (calibrate(mass, rows, held_out) is not mass) == memorised


@given(st.integers(0, 2**32), st.integers(2, 6))
def test_probability_moves_between_the_given_class_and_all_others(seed: int, classes: int) -> None:
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.full(classes, 0.3), 20).astype(np.float32)
    labels, target = generator.integers(0, classes, 20), generator.random(20)
    result = with_off_label_mass(p, labels, target)
    np.testing.assert_allclose(result.sum(1), 1, atol=1e-5)
    before, after = off_label_mass(p, labels), off_label_mass(result, labels)
    np.testing.assert_allclose(after, np.where(before == 0, 0, target), atol=1e-5)
    others = np.arange(classes) != labels[:, np.newaxis]
    np.testing.assert_allclose(
        np.where(others, result, 0) * before[:, np.newaxis],
        np.where(others, p, 0) * after[:, np.newaxis],
        atol=1e-5,
    )
