"""The meter reads what the theorem says, in anybody's loop and in every run."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import noiselimit
from noiselimit import InputError, MemorisationMeter, grid, train
from noiselimit.data.examples import DataSet
from noiselimit.information import gradient_capacity, least_information, uniform_noise_entropy
from noiselimit.meter import predictor_bits


def logits_for(labels: torch.Tensor, classes: int) -> torch.Tensor:
    return 10 * torch.nn.functional.one_hot(labels, classes).float()


@given(hits=st.lists(st.booleans(), min_size=1, max_size=60), cut=st.integers(0, 60))
def test_batches_add_up_to_the_error_and_its_bits(hits: list[bool], cut: int) -> None:
    labels = torch.zeros(len(hits), dtype=torch.int64)
    said = logits_for((~torch.tensor(hits)).long(), 10)
    meter = MemorisationMeter(10, noise_rate=0.8)
    for part in (slice(0, cut), slice(cut, None)):
        if len(labels[part]):
            meter.update(said[part], labels[part])
    reading = meter.read()
    entropy = uniform_noise_entropy(0.8, 10)
    assert reading.error == pytest.approx(1 - np.mean(hits))
    assert reading.bits == pytest.approx(least_information(entropy, reading.error, 10))
    assert reading.noise_entropy == entropy
    assert reading.source == "noise"
    assert reading.wrong_fitted is None


def test_whoever_hits_every_noisy_label_has_memorised_all_there_is() -> None:
    meter = MemorisationMeter(10, noise_rate=0.8)
    labels = torch.arange(10)
    meter.update(logits_for(labels, 10), labels, wrong=labels < 4)
    reading = meter.read()
    assert reading.bits == pytest.approx(uniform_noise_entropy(0.8, 10))
    assert reading.wrong_fitted == 1


def test_the_right_error_implies_nothing() -> None:
    meter = MemorisationMeter(4, noise_rate=0.5)
    labels = torch.arange(100) % 4
    said = torch.where(torch.arange(100) < 50, labels, (labels + 1) % 4)
    meter.update(logits_for(said, 4), labels, wrong=torch.arange(100) >= 50)
    reading = meter.read()
    assert reading.bits == pytest.approx(0, abs=1e-9)
    assert reading.wrong_fitted == 0


def test_an_unknown_noise_is_estimated_from_the_predictor() -> None:
    meter = MemorisationMeter(4)
    labels = torch.arange(8) % 4
    meter.update(logits_for(labels, 4), labels)
    assert meter.read().bits is None
    meter.update(logits_for(labels, 4), labels, predictor_logits=torch.zeros(8, 4))
    reading = meter.read()
    assert reading.source == "predictor"
    assert reading.noise_entropy == pytest.approx(2)
    assert reading.bits == pytest.approx(2)


def test_predictor_bits_are_the_entropy_of_its_probabilities() -> None:
    probabilities = torch.tensor([[0.5, 0.25, 0.25], [1 - 2e-9, 1e-9, 1e-9]])
    found = predictor_bits(probabilities.log())
    torch.testing.assert_close(found, torch.tensor([1.5, 0.0]), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MemorisationMeter(10, noise_rate=0.8, noise_entropy=1), "both given"),
        (lambda: MemorisationMeter(1, noise_rate=0.8), "classes"),
        (lambda: MemorisationMeter(10, noise_rate=1.8), "probability"),
        (lambda: MemorisationMeter(10, noise_entropy=math.nan), "noise_entropy"),
        (lambda: MemorisationMeter(2, noise_entropy=1.5), "noise_entropy"),
        (lambda: MemorisationMeter(3).read(), "has seen no labels"),
        (lambda: MemorisationMeter(3).update(torch.zeros(2, 4), torch.zeros(2)), "logits have shape"),
    ],
)
def test_bad_input_is_one_sentence(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_every_run_records_what_its_error_implies(blobs: DataSet) -> None:
    specs = grid(
        method=["ce", "limit-l", "limit-l+s"], noise="uniform:0.4", epochs=3, batch_size=16, sigma=0.3
    )
    for run in train(specs, blobs):
        entropy = uniform_noise_entropy(0.4, 3)
        for record in run.history:
            assert record["noise_entropy"] == pytest.approx(entropy)
            implied = least_information(entropy, 1 - record["train_accuracy"], 3)
            assert record["memorised_bits"] == pytest.approx(implied)
            assert 0 <= record["wrong_fitted"] <= 1
        assert run.metrics["memorised_bits"] == run.history[-1]["memorised_bits"]
        assert run.metrics["noise_entropy_source"] == "noise"
        assert (run.history[-1]["capacity_bits"] is not None) == (run.spec.method == "limit-l+s")


def test_the_capacity_of_a_sampled_run_adds_up(blobs: DataSet) -> None:
    (run,) = train(grid(method="limit-g+s", noise="uniform:0.4", epochs=4, sigma=0.3), blobs)
    spent = [record["capacity_bits"] for record in run.history]
    assert all(later > earlier > 0 for earlier, later in pairwise(spent))
    most = gradient_capacity(2.0, 3, 0.3, "gaussian")  # ‖μ‖² is at most 2
    assert spent[-1] <= 4 * most
    assert run.metrics["capacity_bits"] == spent[-1]


def test_where_the_noise_is_unknown_the_predictor_or_nobody_tells(blobs: DataSet) -> None:
    ce, limit = train(grid(method=["ce", "limit-l"], epochs=2, batch_size=16), blobs)
    assert ce.history[-1]["memorised_bits"] is None
    assert ce.metrics["noise_entropy_source"] is None
    assert limit.metrics["noise_entropy_source"] == "predictor"
    assert 0 <= limit.history[-1]["noise_entropy"] <= math.log2(3)
    assert limit.history[-1]["wrong_fitted"] is None


def test_wrong_fitted_counts_wrong_labels_only(blobs: DataSet) -> None:
    """Cross-entropy of a large network on few examples ends by fitting all of them, the wrong ones too."""
    settings = {"noise": "uniform:0.4", "epochs": 100, "batch_size": 16, "network": "mlp"}
    (run,) = noiselimit.train(grid(method="ce", **settings), blobs)
    assert run.history[0]["wrong_fitted"] < 0.6
    assert run.history[-1]["wrong_fitted"] > 0.8
    assert run.history[-1]["memorised_bits"] > 0.5 * uniform_noise_entropy(0.4, 3)
