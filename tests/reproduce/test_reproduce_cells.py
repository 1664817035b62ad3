"""From rows to a figure of a table."""

from dataclasses import replace
from itertools import product
from math import sqrt

import pytest

from noiselimit.reproduce.bootstrap import bootstrap_std
from noiselimit.reproduce.cells import cell_result, cell_rows
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.studies import Cell

CELL = Cell("mnist", "uniform", 0.8, 48_000, "limit-l")
AT_ONCE = {"failure": "the loss", "best_epoch": 0, "validation_accuracy": None, "test_accuracy": None}


def test_nothing_run_is_no_result(make_row):
    assert cell_result(CELL, []) is None
    assert cell_result(CELL, [make_row(n=1000), make_row(quick=True), make_row(network="mlp-4x512")]) is None


def test_the_value_is_chosen_by_validation_over_the_seeds_that_all_have(make_row):
    rows = [
        make_row(hyper="beta=10", seed=0, validation_accuracy=0.20, test_accuracy=0.97),
        make_row(hyper="beta=10", seed=1, validation_accuracy=0.20, test_accuracy=0.98),
        make_row(hyper="beta=3", seed=0, validation_accuracy=0.19, test_accuracy=0.99),
        make_row(hyper="beta=3", seed=1, validation_accuracy=0.19, test_accuracy=0.99),
        make_row(hyper="beta=3", seed=2, validation_accuracy=0.99, test_accuracy=0.99),
    ]
    result = cell_result(CELL, rows)
    assert (result.hyper, result.seeds, result.compared_seeds) == ("beta=10", (0, 1), (0, 1))
    assert result.accuracy == pytest.approx(97.5)
    assert result.std == pytest.approx(100 * 0.01 / sqrt(2))
    assert (result.std_by, result.values_run, result.values) == ("seeds", 2, 8)
    assert result.difference == pytest.approx(-0.2)


def test_equal_validation_accuracy_is_decided_by_the_loss(make_row):
    rows = [make_row(hyper="beta=3", validation_loss=2.1), make_row(hyper="beta=10", validation_loss=2.2)]
    assert cell_result(CELL, rows).hyper == "beta=3"


def test_values_that_the_protocol_does_not_try_are_left_out(make_row):
    own, other = make_row(), make_row(hyper="beta=7", validation_accuracy=0.9)
    result = cell_result(CELL, [own, other])
    assert (result.hyper, result.values_run, result.values_compared) == ("beta=10", 1, 1)
    assert cell_result(CELL, [other]) is None
    quick = protocol_for("mnist", quick=True)
    way = {"quick": True, "network": quick.network, "patience": quick.patience}
    own, other = (replace(row, **way) for row in (own, other))
    whole = replace(own, hyper="beta=3", validation_accuracy=0.9)  # of the paper's grid, and not of the quick
    assert list(cell_rows(CELL, [own, other, whole], quick)) == ["beta=10"]


@pytest.mark.parametrize("method", ["ce", "limit-l"])
def test_rows_of_another_patience_do_not_count(make_row, method):
    cell, hyper = replace(CELL, method=method), "" if method == "ce" else "beta=10"
    own, weaker = make_row(method=method, hyper=hyper), make_row(hyper="beta=3", validation_accuracy=0.1)
    alone = cell_result(cell, [own, weaker])
    for accuracy in (0.05, 0.99):
        other = replace(own, patience=50, validation_accuracy=accuracy)
        assert cell_result(cell, [other, own, weaker]) == alone
        assert cell_result(cell, [other]) is None


def test_of_each_value_a_seed_has_one_row(make_row):
    names = ("hyper", "seed", "patience", "epochs", "network", "quick")
    each = (("beta=3", "beta=10"), (0, 1), (50, 100), (15, 400), ("mnist-cnn", "mlp-4x512"), (False, True))
    rows = [make_row(**dict(zip(names, values, strict=True))) for values in product(*each)]
    found = cell_rows(CELL, rows)
    assert {value: [row.seed for row in own] for value, own in found.items()} == {
        "beta=3": [0, 1],
        "beta=10": [0, 1],
    }
    assert {(row.patience, row.epochs) for own in found.values() for row in own} == {(100, 400)}


def test_the_shown_difference_is_that_of_the_shown_figures(make_row):
    result = cell_result(CELL, [make_row(test_accuracy=0.97451)])  # shown as 97.5, the paper's is 97.7
    assert result.difference == pytest.approx(-0.249)
    assert result.shown_difference == pytest.approx(-0.2)


def test_one_seed_has_the_bootstrap_as_its_spread(make_row):
    result = cell_result(CELL, [make_row(bootstrap_std=0.0015)])
    assert (result.std_by, result.std) == ("bootstrap", pytest.approx(0.15))


def test_the_criterion_is_the_issues(make_row):
    rows = [make_row(seed=seed, test_accuracy=0.9735) for seed in range(3)]
    result = cell_result(CELL, rows)
    assert result.threshold == pytest.approx(97.7 - 2 * sqrt(0.2**2 / 5 + 0.2**2 / 3) - 0.1)
    assert result.meets is True
    assert cell_result(CELL, [make_row(seed=seed, test_accuracy=0.973) for seed in range(3)]).meets is False


def test_a_value_of_which_a_run_failed_is_not_chosen(make_row):
    rows = [
        make_row(hyper="beta=0", validation_accuracy=0.9),
        make_row(hyper="beta=0", seed=1, **AT_ONCE),
        make_row(hyper="beta=10"),
    ]
    result = cell_result(CELL, rows)
    assert (result.hyper, result.values_run, result.values_compared) == ("beta=10", 2, 1)
    assert result.failed == (("beta=0", 1),)
    alone = cell_result(CELL, rows[:2])
    assert (alone.hyper, alone.seeds, alone.failed) == ("beta=0", (0,), (("beta=0", 1),))
    assert cell_result(CELL, rows[1:2]) is None


def test_a_run_that_failed_late_counts_by_its_best_epoch(make_row):
    rows = [
        make_row(seed=0, test_accuracy=0.97),
        make_row(seed=1, test_accuracy=0.95, failure="the loss is not finite in epoch 380"),
        make_row(hyper="beta=3", validation_accuracy=0.1),
        make_row(hyper="beta=3", validation_accuracy=0.1, seed=1),
    ]
    result = cell_result(CELL, rows)
    assert (result.hyper, result.accuracy) == ("beta=10", pytest.approx(96.0))
    assert (result.broken_off, result.failed) == ((("beta=10", 1),), ())


def test_precisions_of_what_was_compared_are_known(make_row):
    rows = [make_row(), make_row(hyper="beta=3", precision="float32")]
    assert cell_result(CELL, rows).precisions == ("bfloat16", "float32")
    assert cell_result(CELL, rows[:1]).precisions == ("bfloat16",)


def test_a_screen_of_fewer_epochs_is_stated(make_row):
    rows = [
        make_row(hyper="beta=10", epochs=150, epochs_run=150, validation_accuracy=0.3),
        make_row(hyper="beta=3", epochs=15, epochs_run=15),
        make_row(hyper="beta=1", epochs=15, epochs_run=12),
    ]
    result = cell_result(CELL, rows)
    assert (result.epochs, result.is_screened) == (150, True)
    assert not cell_result(CELL, [rows[0], rows[2]]).is_screened


def test_a_limit_that_ended_no_run_is_none(make_row):
    assert cell_result(CELL, [make_row(epochs=150, epochs_run=140)]).epochs == 400
    assert cell_result(CELL, [make_row(epochs=150, epochs_run=150)]).epochs == 150


def test_epochs_are_those_of_the_rows_whatever_a_call_allows(make_row):
    few = protocol_for("mnist", epochs=2)
    whole = make_row(epochs_run=105)
    other = make_row(hyper="beta=3", epochs=2, epochs_run=2, best_epoch=1, validation_accuracy=0.1)
    result = cell_result(CELL, [whole, other], few)
    assert (result.epochs, result.protocol_epochs, result.is_cut) == (400, 400, False)
    assert (result.epochs_allowed, result.epochs_run) == ((400,), (105,))
    assert result.is_screened  # beta=3 had two epochs
    result = cell_result(CELL, [other, replace(other, seed=1, epochs=15, epochs_run=15)], few)
    assert (result.epochs, result.protocol_epochs, result.is_cut) == (2, 400, True)
    assert (result.epochs_allowed, result.epochs_run) == ((2, 15), (2, 15))


def test_without_noise_a_row_serves_every_table(make_row):
    row = make_row(data="cifar10", noise="none", p=0.0, n=40_000, network="resnet-34")
    for noise in ("uniform", "pair"):
        assert cell_result(Cell("cifar10", noise, 0.0, 40_000, "limit-l"), [row]) is not None


@pytest.mark.parametrize("accuracy", [0.5, 0.9, 0.977, 0.9999])
def test_the_bootstrap_spreads_as_a_binomial(accuracy):
    expected = sqrt(accuracy * (1 - accuracy) / 10_000)
    assert bootstrap_std(accuracy, 10_000, seed=3) == pytest.approx(expected, rel=0.1)
    assert bootstrap_std(accuracy, 10_000, seed=3) == bootstrap_std(accuracy, 10_000, seed=3)


def test_the_bootstrap_equals_resampling_the_examples():
    import numpy as np

    right = np.arange(500) < 450
    drawn = np.random.default_rng(0).choice(right, size=(4000, 500)).mean(1).std()
    assert bootstrap_std(0.9, 500, seed=0) == pytest.approx(drawn, rel=0.1)
    assert bootstrap_std(1.0, 500, seed=0) == bootstrap_std(0.0, 500, seed=0) == 0.0
