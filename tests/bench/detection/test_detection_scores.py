"""The peers' formulas, against the peers themselves where they are installed, and by hand where not."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from noiselimit.bench.detection.scores import (
    area_under_margin,
    detection,
    flagging,
    loss,
    normalized_margin,
    rates,
    self_confidence,
)
from noiselimit.bench.detection.threshold import below_threshold
from noiselimit.bench.detection.watches import margin

GIVEN = np.array([0, 1, 2])
PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.5, 0.2, 0.3], [0.0, 0.0, 1.0]])


def test_by_hand() -> None:
    assert self_confidence(PROBABILITIES, GIVEN).tolist() == [-0.7, -0.2, -1.0]
    assert normalized_margin(PROBABILITIES, GIVEN) == pytest.approx([-0.75, -0.35, -1.0])
    assert loss(PROBABILITIES, GIVEN) == pytest.approx([-math.log(0.7), -math.log(0.2), 0.0])
    logits = torch.tensor([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]])
    assert margin(logits, torch.tensor([0, 1])).tolist() == [1.0, -2.0]
    margins = np.array([[1.0, 0.0], [3.0, 0.0], [5.0, -9.0]])
    assert area_under_margin(margins).tolist() == [-3.0, 3.0]
    assert area_under_margin(margins, 2).tolist() == [-2.0, 0.0]


def test_below_the_threshold() -> None:
    """Each run's set is judged by the other run; 99 % of a set lie at or below its threshold."""
    sets = np.array([[True, False, False, False], [False, True, False, False]])
    first = np.array([[0.0, 5.0, -1.0, 1.0], [2.0, 5.0, -1.0, 1.1]])  # of the set: 1 on average
    second = np.array([[-9.0, 2.0, 9.0, 9.0], [-9.0, 2.0, 9.0, 9.0]])
    margins = np.stack([first, second]).astype(np.float32)
    assert below_threshold(margins, sets).tolist() == [True, False, True, False]
    assert below_threshold(margins, sets, 1).tolist() == [True, False, True, False]
    margins[0, :, 3] = 0.9
    assert below_threshold(margins, sets).tolist() == [True, False, True, True]


def test_the_loss_tells_apart_what_rounds_to_certainty() -> None:
    """In single precision 1 − 1e-9 and 1 − 1e-12 are both 1."""
    sure = np.array([[1.0, 1e-9], [1.0, 1e-12], [0.0, 1.0]], np.float32)
    found = loss(sure, np.zeros(3, np.int64))
    assert found[0] == pytest.approx(1e-9)
    assert found[1] == pytest.approx(1e-12)
    assert found[2] == math.inf


def test_detection_counts_pairs() -> None:
    wrong = np.array([True, False, True, False])
    assert detection(np.array([4.0, 3.0, 2.0, 1.0]), wrong)["auroc"] == 0.75
    assert detection(np.array([math.inf, 3.0, 4.0, 1.0]), wrong) == {"auroc": 1.0, "auprc": 1.0}
    assert detection(np.arange(4.0), np.zeros(4, bool)) == {"auroc": None, "auprc": None}


def test_flagging() -> None:
    wrong, flags = np.array([True, True, False, False]), np.array([True, False, True, False])
    found = flagging(flags, 0.75, wrong)
    assert found == {"f1": 0.5, "flagged": 0.5, "noise_rate": 0.75, "noise_rate_error": 0.25}
    assert flagging(flags, 0.1, np.zeros(4, bool))["f1"] is None


def test_rates_of_a_part() -> None:
    wrong, flags = np.array([True, True, False, False, False]), np.array([True, False, True, False, False])
    assert rates(flags, wrong) == {"recall": 0.5, "false_positives": pytest.approx(1 / 3)}
    assert rates(flags, np.zeros(5, bool)) == {"recall": None, "false_positives": 0.4}
    assert rates(flags, np.ones(5, bool)) == {"recall": 0.4, "false_positives": None}


@settings(deadline=None)  # the first call imports cleanlab
@given(
    arrays(np.float64, (6, 4), elements=st.floats(0.01, 1.0)),
    arrays(np.int64, 6, elements=st.integers(0, 3)),
)
def test_cleanlab_agrees(weights: np.ndarray, labels: np.ndarray) -> None:
    rank = pytest.importorskip("cleanlab.rank")
    probabilities = weights / weights.sum(1, keepdims=True)
    for name, formula in (("self_confidence", self_confidence), ("normalized_margin", normalized_margin)):
        theirs = rank.get_label_quality_scores(labels, probabilities, method=name)
        np.testing.assert_allclose(formula(probabilities, labels), -theirs, atol=1e-12)


def test_the_aum_package_agrees() -> None:
    aum = pytest.importorskip("aum")
    calculator = aum.AUMCalculator(save_dir="unused", compressed=True)
    generator = torch.Generator().manual_seed(0)
    labels = torch.tensor([0, 3, 1, 2, 2])
    margins = []
    for _ in range(3):
        logits = torch.randn(5, 4, generator=generator)
        theirs = calculator.update(logits, labels, range(5))
        margins.append(margin(logits, labels).numpy())
    found = [theirs[number].aum for number in range(5)]
    np.testing.assert_allclose(area_under_margin(np.stack(margins)), -np.array(found), atol=1e-6)
