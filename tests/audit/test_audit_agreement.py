"""Agreement with held-out labels, against what chance would make of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.audit.diagnostics import (
    count_settings,
    held_out_agreement,
    mean_agreement,
    second_half_agreement,
)
from noiselimit.audit.noise_rate import Agreement, agreement
from noiselimit.data.examples import DataSet
from noiselimit.engine.preparation import split_examples
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train

labels = st.lists(st.integers(0, 3), min_size=1, max_size=40)


@given(labels, st.integers(0, 3))
def test_always_naming_one_class_is_no_more_than_chance(given_labels: list[int], always: int) -> None:
    found = agreement(np.full(len(given_labels), always), np.array(given_labels), 4)
    assert found.share == pytest.approx(found.chance)
    assert found.beyond_chance == pytest.approx(0)
    assert found.low <= found.chance


@given(labels, st.integers(0, 2**20))
def test_chance_is_the_mean_over_all_ways_to_deal_labels_out(given_labels: list[int], seed: int) -> None:
    dealt = np.array(given_labels)
    predicted = np.random.default_rng(seed).integers(0, 4, len(dealt))
    # Every label meets every example once as the labels go round.
    shares = [agreement(predicted, np.roll(dealt, turn), 4).share for turn in range(len(dealt))]
    assert agreement(predicted, dealt, 4).chance == pytest.approx(np.mean(shares))


def test_all_right_is_as_far_beyond_chance_as_can_be() -> None:
    found = agreement(np.array([0, 1, 1, 2]), np.array([0, 1, 1, 2]), 3)
    assert (found.share, found.beyond_chance, found.examples) == (1.0, 1.0, 4)
    assert found.chance == pytest.approx((1 + 4 + 1) / 16)
    assert agreement(np.zeros(3, int), np.zeros(3, int), 2).beyond_chance == 0


def test_more_examples_say_it_with_more_certainty() -> None:
    assert Agreement(0.7, 0.5, 10).low < 0.5 < Agreement(0.7, 0.5, 100).low < 0.7
    assert Agreement(0.7, 0.5, 100, 3).low < Agreement(0.7, 0.5, 100).low


def test_settings_are_counted_whatever_their_seeds(blobs: DataSet) -> None:
    specs = [RunSpec("limit-l", {"beta": beta}, seed=seed, epochs=1) for beta in (3, 10) for seed in (0, 1)]
    assert count_settings(train(specs, blobs)) == 2


def test_a_chosen_epoch_is_asked_by_all_later_ones(blobs: DataSet) -> None:
    (run,) = train(RunSpec("limit-l", epochs=1), blobs)
    curve = [0.1, 0.9, 0.5, 0.7]
    run = replace(run, history=[{"validation_accuracy": value} for value in curve])
    predicted, labels_apart = np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1])
    found = second_half_agreement([run, run], predicted, labels_apart, 2, 3)
    assert found == replace(agreement(predicted, labels_apart, 2), share=0.6, settings=3)
    assert second_half_agreement([run], predicted[:0], labels_apart[:0], 2, 3) is None


def test_runs_agree_together_by_their_means() -> None:
    both = [Agreement(0.5, 0.25, 20), Agreement(1.0, 0.75, 20)]
    assert mean_agreement(both, 36, 2) == Agreement(0.75, 0.5, 36, 2)


def test_a_run_is_asked_by_what_it_averaged(blobs: DataSet) -> None:
    (run,) = train(RunSpec("limit-l", epochs=6, batch_size=32, test_share=0.0), blobs, averaged=True)
    rows = split_examples(151, 0).validation
    found = held_out_agreement(run, blobs.examples.labels, rows)
    averaged = run.averaged
    assert found is not None
    assert averaged is not None
    assert averaged.predictor is not None
    said = (averaged.classifier + averaged.predictor)[rows].argmax(1)
    assert found == agreement(said, blobs.examples.labels[rows], 3)
    assert found.examples == 30
