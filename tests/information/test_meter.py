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
from noiselimit.information.meter import predictor_bits


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
    torch.testing.assert_close(found, torch.tensor([1.5, 0.0], dtype=torch.float64), atol=1e-6, rtol=0)


def updated(
    logits: torch.Tensor = torch.zeros(2, 3),  # noqa: B008
    labels: torch.Tensor = torch.zeros(2, dtype=torch.int64),  # noqa: B008
    **others: torch.Tensor,
) -> None:
    MemorisationMeter(3).update(logits, labels, **others)


@pytest.mark.parametrize("classes", [2, 3, 7, 10, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_predictor_that_knows_nothing_is_worth_log_k(classes: int, dtype: torch.dtype) -> None:
    meter, labels = MemorisationMeter(classes), torch.zeros(512, dtype=torch.int64)
    for _ in range(40):
        uniform = torch.full((512, classes), 0.1, dtype=dtype)
        meter.update(logits_for(labels, classes), labels, predictor_logits=uniform)
    reading = meter.read()
    assert reading.noise_entropy == pytest.approx(math.log2(classes), rel=1e-9)
    assert reading.bits == pytest.approx(math.log2(classes), rel=1e-9)


def test_a_classifier_of_nans_has_hit_nothing() -> None:
    meter = MemorisationMeter(3, noise_rate=0.5)
    meter.update(torch.full((4, 3), torch.nan), torch.zeros(4, dtype=torch.int64))
    assert meter.read().error == 1


def test_the_meter_never_stops_a_training(blobs: DataSet) -> None:
    """Weights that decay to nothing leave a predictor that is as unsure as it can be, and rounding beyond."""
    still = {"weight_decay": 30, "optimiser": "sgd", "momentum": 0, "learning_rate": 0.01}
    (run,) = train(grid(method="limit-g", epochs=60, **still), blobs)
    assert run.metrics["status"] == "finished"
    assert run.metrics["last_epoch"] == 60


def test_what_a_balanced_order_shows_again_is_counted_again(blobs: DataSet) -> None:
    few = noiselimit.make_examples(blobs.examples.inputs[:110], np.repeat([0, 1, 2], [90, 12, 8]))
    settings = {"noise": "uniform:0.3", "sampler": "balanced", "epochs": 30, "batch_size": 16}
    for run in train(grid(method=["ce", "limit-g+s"], **settings), few):
        assert max(record["wrong_fitted"] for record in run.history) <= 1
        assert run.metrics["capacity_bits"] is None  # the order is drawn from the labels


def test_an_estimate_only_falls(blobs: DataSet) -> None:
    (run,) = train(grid(method="limit-g", epochs=15, batch_size=16), blobs)
    estimates = [record["noise_entropy"] for record in run.history]
    assert all(later <= earlier for earlier, later in pairwise(estimates))
    assert estimates[-1] < estimates[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MemorisationMeter(10, noise_rate=0.8, noise_entropy=1), "both given"),
        (lambda: MemorisationMeter(1, noise_rate=0.8), "classes"),
        (lambda: MemorisationMeter(10, noise_rate=1.8), "probability"),
        (lambda: MemorisationMeter(10, noise_entropy=math.nan), "noise_entropy"),
        (lambda: MemorisationMeter(2, noise_entropy=1.5), "noise_entropy"),
        (lambda: MemorisationMeter(3).read(), "has seen no labels"),
        (lambda: MemorisationMeter(1), "classes"),
        (lambda: updated(logits=torch.zeros(2, 4)), "logits have shape"),
        (lambda: updated(labels=torch.zeros(2, 1)), "labels have shape"),
        (lambda: updated(predictor_logits=torch.zeros(2, 4)), "predictor_logits have shape"),
        (lambda: updated(wrong=torch.zeros(2)), "wrong has shape"),
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
