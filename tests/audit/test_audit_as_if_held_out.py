"""Examples that were trained on are brought to the scale of those held out, and only where they differ."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, ks_2samp
from sklearn.metrics import roc_auc_score

from noiselimit.audit.probabilities import (
    FEWEST,
    LIKELY,
    TRUSTED,
    calibrate,
    off_label_mass,
    with_off_label_mass,
)


def draw(count: int, wrong: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What an unbiased network says: (off_label [n], wrong [n])."""
    generator = np.random.default_rng(seed)
    is_wrong = generator.random(count) < wrong
    return np.where(is_wrong, generator.beta(8, 3, count), generator.beta(2, 9, count)), is_wrong


def test_memorised_labels_regain_their_place() -> None:
    off_label, wrong = draw(1_000, 0.2, 0)
    rows = np.arange(1_000)
    seen, held_out = rows[:800], rows[800:]
    memorised = off_label.copy()
    memorised[seen] *= 0.15
    scaled = calibrate(memorised, seen, held_out)
    assert roc_auc_score(wrong, memorised) < 0.95
    assert roc_auc_score(wrong, scaled) == pytest.approx(roc_auc_score(wrong, off_label), abs=0.003)
    assert np.mean(scaled[seen] > 0.5) == pytest.approx(np.mean(scaled[held_out] > 0.5), abs=0.005)
    np.testing.assert_array_equal(scaled[held_out], off_label[held_out])


@pytest.mark.parametrize("seed", range(5))
def test_parts_that_look_alike_are_left_alone(seed: int) -> None:
    off_label, _ = draw(1_000, 0.2, seed)
    rows = np.arange(1_000)
    assert calibrate(off_label, rows[200:], rows[:200]) is off_label


def test_too_few_say_nothing() -> None:
    off_label = np.linspace(0, 0.01, 500)
    off_label[: FEWEST - 1] = 1.0
    rows = np.arange(500)
    assert calibrate(off_label, rows[FEWEST - 1 :], rows[: FEWEST - 1]) is off_label


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(50, 300), st.integers(FEWEST, 300), st.booleans())
def test_seen_examples_keep_order_and_ties(seed: int, trained: int, apart: int, ties: bool) -> None:
    generator = np.random.default_rng(seed)
    off_label = np.concatenate([generator.beta(1, 20, trained), generator.beta(2, 2, apart)])
    if ties:
        off_label = off_label.round(2)
    seen, held_out = np.arange(trained), np.arange(trained, trained + apart)
    scaled = calibrate(off_label, seen, held_out)
    order = np.argsort(off_label[seen], kind="stable")
    assert (np.diff(scaled[seen][order]) >= 0).all()
    same = np.diff(off_label[seen][order]) == 0
    assert (np.diff(scaled[seen][order])[same] == 0).all()
    if not ties and scaled is not off_label:
        assert (np.diff(scaled[seen][order]) > 0).all(), "not even the first and the last become equal"
    assert scaled[seen].min() >= 0
    assert scaled[seen].max() <= 1


@given(st.integers(0, 2**32), st.integers(2, 6))
def test_probability_moves_between_the_given_class_and_all_others(seed: int, classes: int) -> None:
    generator = np.random.default_rng(seed)
    said = generator.dirichlet(np.full(classes, 0.3), 20).astype(np.float32)
    labels = generator.integers(0, classes, 20)
    target = generator.random(20)
    result = with_off_label_mass(said, labels, target)
    np.testing.assert_allclose(result.sum(1), 1, atol=1e-5)
    nothing = off_label_mass(said, labels) == 0
    np.testing.assert_allclose(off_label_mass(result, labels)[~nothing], target[~nothing], atol=1e-5)
    assert (off_label_mass(result, labels)[nothing] == 0).all()
    rest = np.arange(classes) != labels[:, np.newaxis]
    np.testing.assert_allclose(
        np.where(rest, result, 0) * off_label_mass(said, labels)[:, np.newaxis],
        np.where(rest, said, 0) * off_label_mass(result, labels)[:, np.newaxis],
        atol=1e-5,
    )


def test_a_network_that_is_sure_of_the_given_class_leaves_nothing_to_move() -> None:
    result = with_off_label_mass(np.array([[1, 0, 0]], np.float32), np.array([0]), np.array([0.5]))
    np.testing.assert_array_equal(result, [[1, 0, 0]])


@pytest.mark.parametrize("seed", range(5))
def test_labels_that_are_doubted_more_though_they_were_seen_are_left_alone(seed: int) -> None:
    """As on easy data, where all that differs is how small a doubt is; the share of wrong labels among all
    is then known better than among those held out."""
    off_label, _ = draw(1_000, 0.2, seed)
    rows = np.arange(1_000)
    seen, held_out = rows[200:], rows[:200]
    surer = off_label.copy()
    surer[held_out] = np.where(surer[held_out] < 0.5, 0.2 * surer[held_out], surer[held_out])
    assert ks_2samp(surer[seen], surer[held_out]).pvalue < 1e-6
    assert calibrate(surer, seen, held_out) is surer


def test_what_nobody_doubts_is_no_sign_of_memory() -> None:
    generator = np.random.default_rng(0)
    rows = np.arange(1_000)
    off_label = np.where(rows % 5 == 0, 0.9, 0.5 * TRUSTED) * generator.uniform(0.9, 1, 1_000)
    seen, held_out = rows[rows % 4 > 0], rows[rows % 4 == 0]
    surer = off_label.copy()
    surer[seen] = np.where(surer[seen] < 0.5, surer[seen] / 1_000, surer[seen])
    assert calibrate(surer, seen, held_out) is surer


def test_few_contradictions_say_enough_where_none_is_of_what_was_seen() -> None:
    rows = np.arange(600)
    off_label = np.linspace(0.1, 0.3, 600)
    off_label[480:492] = 0.9
    assert calibrate(off_label, rows[:480], rows[480:]) is not off_label


@given(st.integers(0, 2**32), st.integers(1, 200), st.integers(FEWEST, 200))
def test_when_seen_labels_are_memorised_is_known_from_scipy(seed: int, trained: int, apart: int) -> None:
    generator = np.random.default_rng(seed)
    off_label = TRUSTED + (1 - TRUSTED) * np.concatenate(
        [
            generator.beta(2, generator.uniform(2, 9), trained),
            generator.beta(2, generator.uniform(2, 9), apart),
        ]
    )
    seen, held_out = np.arange(trained), np.arange(trained, trained + apart)
    surer = ks_2samp(off_label[seen], off_label[held_out], alternative="greater", method="asymp").statistic
    limit = math.sqrt(-math.log(LIKELY / 2) / 2 * (1 / trained + 1 / apart))
    contradicted = off_label > 0.5
    seldom = binomtest(
        int(contradicted[held_out].sum()),
        max(int(contradicted.sum()), 1),
        apart / (trained + apart),
        alternative="greater",
    ).pvalue
    memorised = surer > limit or seldom < LIKELY / 2
    assert (calibrate(off_label, seen, held_out) is not off_label) == memorised


def test_chance_hardly_ever_says_so() -> None:
    found = 0
    for seed in range(1_000):
        off_label, _ = draw(600, 0.15, seed)
        found += calibrate(off_label, np.arange(480), np.arange(480, 600)) is not off_label
    assert found <= 20, "twice what chance is allowed to"
