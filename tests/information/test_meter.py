"""The memorisation meter, in a user's loop and in every run."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit import InputError, MemorisationMeter, grid, make_examples, train
from noiselimit.data.examples import DataSet
from noiselimit.information import gradient_capacity, least_information, uniform_noise_entropy
from noiselimit.information.meter import predictor_bits


def logits_for(labels: torch.Tensor, classes: int) -> torch.Tensor:
    return 10 * torch.nn.functional.one_hot(labels, classes).float()


@given(hits=st.lists(st.booleans(), min_size=1, max_size=60), cut=st.integers(0, 60))
def test_batches_add_up_to_the_error_and_its_bits(hits: list[bool], cut: int) -> None:
    labels = torch.zeros(len(hits), dtype=torch.int64)
    logits = logits_for((~torch.tensor(hits)).long(), 10)
    meter = MemorisationMeter(10, noise_rate=0.8)
    for part in (slice(0, cut), slice(cut, None)):
        if len(labels[part]):
            meter.update(logits[part], labels[part], wrong=torch.arange(len(labels))[part] < 1)
    reading = meter.read()
    entropy = uniform_noise_entropy(0.8, 10)
    assert reading.error == pytest.approx(1 - np.mean(hits))
    assert reading.bits == pytest.approx(least_information(entropy, reading.error, 10))
    assert (reading.noise_entropy, reading.source, reading.wrong_fitted) == (entropy, "noise", hits[0])


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


@pytest.mark.parametrize("classes", [2, 3, 7, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_rounding_does_not_exceed_the_entropy_of_the_classes(classes: int, dtype: torch.dtype) -> None:
    meter, labels = MemorisationMeter(classes), torch.zeros(512, dtype=torch.int64)
    for _ in range(40):
        uniform = torch.full((512, classes), 0.1, dtype=dtype)
        meter.update(logits_for(labels, classes), labels, predictor_logits=uniform)
    reading = meter.read()
    assert reading.noise_entropy == pytest.approx(math.log2(classes), rel=1e-9)
    assert reading.bits == pytest.approx(math.log2(classes), rel=1e-9)


def test_predictor_bits_and_nan() -> None:
    probabilities = torch.tensor([[0.5, 0.25, 0.25], [1 - 2e-9, 1e-9, 1e-9]])
    expected = torch.tensor([1.5, 0.0], dtype=torch.float64)
    torch.testing.assert_close(predictor_bits(probabilities.log()), expected, atol=1e-6, rtol=0)
    meter = MemorisationMeter(3, noise_rate=0.5)
    meter.update(torch.full((4, 3), torch.nan), torch.zeros(4, dtype=torch.int64))
    assert meter.read().error == 1


TWO = {"logits": torch.zeros(2, 3), "labels": torch.zeros(2, dtype=torch.int64)}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MemorisationMeter(10, noise_rate=0.8, noise_entropy=1), "both given"),
        (lambda: MemorisationMeter(1), "classes"),
        (lambda: MemorisationMeter(10, noise_rate=1.8), "probability"),
        (lambda: MemorisationMeter(2, noise_entropy=1.5), "noise_entropy"),
        (lambda: MemorisationMeter(3).read(), "no labels"),
        (lambda: MemorisationMeter(3).update(**{**TWO, "logits": torch.zeros(2, 4)}), "logits"),
        (lambda: MemorisationMeter(3).update(**{**TWO, "labels": torch.zeros(2, 1)}), "labels"),
        (lambda: MemorisationMeter(3).update(**TWO, predictor_logits=torch.zeros(2, 4)), "predictor_logits"),
        (lambda: MemorisationMeter(3).update(**TWO, wrong=torch.zeros(3)), "wrong"),
    ],
)
def test_bad_input_is_one_sentence(make, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_every_run_records_what_its_error_implies(blobs: DataSet) -> None:
    settings = {"noise": "uniform:0.4", "epochs": 3, "batch_size": 16, "sigma": 0.3}
    entropy = uniform_noise_entropy(0.4, 3)
    for run in train(grid(method=["ce", "limit-l", "limit-l+s"], **settings), blobs):
        for record in run.history:
            assert record["noise_entropy"] == pytest.approx(entropy)
            implied = least_information(entropy, 1 - record["train_accuracy"], 3)
            assert record["memorised_bits"] == pytest.approx(implied)
            assert 0 <= record["wrong_fitted"] <= 1
        assert run.metrics["memorised_bits"] == run.history[-1]["memorised_bits"]
        assert run.metrics["noise_entropy_source"] == "noise"
        spent = [record["capacity_bits"] for record in run.history]
        assert (spent[-1] is not None) == (run.spec.method == "limit-l+s")
        if spent[-1] is not None:
            assert all(later > earlier > 0 for earlier, later in pairwise(spent))
            assert spent[-1] <= 3 * gradient_capacity(2.0, 3, 0.3, "laplace")  # ‖μ‖² is at most 2


def test_without_known_noise_the_predictor_estimates_it(blobs: DataSet) -> None:
    ce, limit = train(grid(method=["ce", "limit-g"], epochs=15, batch_size=16), blobs)
    assert ce.history[-1]["memorised_bits"] is None
    assert (ce.metrics["noise_entropy_source"], limit.metrics["noise_entropy_source"]) == (None, "predictor")
    estimates = [record["noise_entropy"] for record in limit.history]
    assert all(later <= earlier for earlier, later in pairwise(estimates))
    assert 0 <= estimates[-1] < estimates[0] <= math.log2(3)


def test_a_balanced_sampler_counts_repeated_examples(blobs: DataSet) -> None:
    few = make_examples(blobs.examples.inputs[:110], np.repeat([0, 1, 2], [90, 12, 8]))
    settings = {"noise": "uniform:0.3", "sampler": "balanced", "epochs": 30, "batch_size": 16}
    for run in train(grid(method=["ce", "limit-g+s"], **settings), few):
        assert max(record["wrong_fitted"] for record in run.history) <= 1
        assert run.metrics["capacity_bits"] is None  # the order depends on the labels
