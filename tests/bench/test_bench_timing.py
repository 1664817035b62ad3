"""A training timed by a clock that ticks once a look."""

import warnings
from itertools import count
from statistics import median
from typing import Any

import pytest
import torch

from noiselimit.bench import timing
from noiselimit.bench.counting import Cost
from noiselimit.bench.entries import timed_entry
from noiselimit.bench.synthetic import make_data
from noiselimit.bench.timing import Timed, time_training
from noiselimit.bench.work import DIGITS_CE, DIGITS_LIMIT, MNIST
from noiselimit.errors import Notice


def train_two(**settings: Any) -> Timed:
    ticks = count()
    return time_training(
        DIGITS_LIMIT,
        make_data("digits", 0, 0),
        2,
        device=torch.device("cpu"),
        threads=1,
        epochs=3,
        warm_up=1,
        train_size=64,
        clock=lambda: float(next(ticks)),
        **settings,
    )


@pytest.fixture(scope="module")
def timed() -> Timed:
    return train_two()


def test_seconds_are_the_median_epoch_after_warming_up_over_k(timed):
    """One block: the clock is looked at when it starts, and by each of two rows at the end of an epoch."""
    assert timed.all_seconds == (2.0, 2.0, 2.0, 2.0)
    assert len(timed.counted_seconds) == 3
    assert timed.seconds == median(timed.counted_seconds) / 2 == 1.0
    assert timed.whole_seconds == 9.0
    assert timed.parts == 1


def test_sizes_are_those_of_the_runs(timed):
    assert (timed.runs, timed.train_examples) == (2, 64)
    assert (timed.validation_examples, timed.test_examples) == (288, 359)
    assert timed.peak_memory is None
    assert timed.notices == ()


def test_the_data_sets_have_the_real_shapes_and_a_test_part():
    data = make_data("mnist", 100, 20)
    assert data.examples.inputs.shape == (100, 1, 28, 28)
    assert data.examples.inputs.dtype == "uint8"
    assert data.examples.classes == 10
    assert data.test is not None
    assert len(data.test) == 20
    assert (data.test.inputs != data.examples.inputs[:20]).any()
    assert data.examples.inputs.std() == pytest.approx(73.9, abs=2)  # of all bytes alike
    assert make_data("cifar10", 50, 10).examples.input_shape == (3, 32, 32)


def test_runs_of_a_cohort_differ_by_seed_and_beta_and_never_stop_early():
    specs = MNIST.specs(4, 5, first_run=2)
    assert [(spec.seed, spec.hyper["beta"]) for spec in specs] == [(2, 10), (3, 10), (0, 11), (1, 11)]
    assert [spec.seed for spec in DIGITS_CE.specs(6, 5)] == [0, 1, 2, 3, 4, 5]
    assert {(spec.epochs, spec.patience, spec.batch_size) for spec in specs} == {(5, 5, 256)}


def test_training_may_end_with_the_last_epoch_that_counts(timed):
    short = train_two(to_the_end=False)
    assert short.all_seconds == timed.all_seconds
    assert (short.train_examples, short.test_examples) == (timed.train_examples, timed.test_examples)


def test_what_gave_way_is_noted_in_each_training_and_passed_on(monkeypatch):
    real = timing.train

    def give_way(*arguments, **options):
        warnings.warn("recording failed.", Notice, stacklevel=2)
        return real(*arguments, **options)

    monkeypatch.setattr(timing, "train", give_way)
    with pytest.warns(Notice, match="recording failed") as heard:
        found = [train_two(to_the_end=False) for _training in range(2)]
    assert [each.notices for each in found] == [("recording failed.",)] * 2
    assert timed_entry(found[0], Cost(1.0, 1.0))["notices"] == ["recording failed."]
    assert len(heard) == 2


def test_a_failed_run_is_no_measurement(monkeypatch):
    class Failed:
        failed = True
        metrics = {"failure": "the loss was not a finite number"}  # noqa: RUF012

    monkeypatch.setattr(timing, "train", lambda *_, **__: [Failed()])
    with pytest.raises(RuntimeError, match="not a finite number"):
        time_training(
            DIGITS_LIMIT,
            make_data("digits", 0, 0),
            1,
            device=torch.device("cpu"),
            threads=1,
            epochs=1,
            warm_up=0,
        )
