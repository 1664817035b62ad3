"""The estimated number of wrong labels, and agreement compared with chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.audit.label_model import fit_label_model
from noiselimit.audit.noise_rate import Agreement, agreement, estimate_noise_rate, wilson
from noiselimit.audit.quality import measure
from tests.audit.test_label_model import NOISES, posterior


@pytest.mark.parametrize(("kind", "rate"), NOISES)
def test_the_interval_holds_the_truth(kind: str, rate: float) -> None:
    p, labels, clean = posterior(kind, rate, 0)
    model = fit_label_model([p], labels)
    found = estimate_noise_rate(measure(model, labels), model.anchors)
    assert found.interval[0] <= float((labels != clean).mean()) <= found.interval[1]
    assert found.interval[0] <= found.rate <= found.interval[1]
    np.testing.assert_allclose(found.joint.sum(), 1)
    np.testing.assert_allclose(found.transition.sum(1), 1)


def test_a_class_without_labels_takes_no_part() -> None:
    p = np.tile([0.1, 0.8, 0.1], (10, 1))
    labels = np.array([0, 2] * 5)
    found = estimate_noise_rate(measure(fit_label_model([p], labels), labels), 10)
    assert found.joint[1].sum() == 0


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
