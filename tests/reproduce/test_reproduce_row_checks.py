"""What is no row of ours is told apart from what is."""

from pathlib import Path

import pytest

from noiselimit.errors import InputError
from noiselimit.reproduce.merging import merge_results
from noiselimit.reproduce.row_checks import check_row
from noiselimit.reproduce.rows_file import append_rows, read_rows

RESULTS = Path(__file__).parents[2] / "results" / "reproduce"
OF_FIGURE = {"network": "mlp-4x512", "method": "ce"}
OF_CLOTHING = {"network": "resnet-50", "epochs": 30, "epochs_run": 30, "best_epoch": 9}
BAD = [
    ({"data": "../escaped"}, "data is '../escaped', and not one of mnist, cifar10"),
    ({"data": "/tmp/escaped"}, "data is '/tmp/escaped'"),
    ({"data": "svhn"}, "data is 'svhn'"),
    ({"method": "magic", "hyper": ""}, "method is 'magic', and not one of ce, "),
    ({"method": "limit-l+init"}, "method is 'limit-l+init'"),
    ({"noise": "pair"}, "noise is 'pair', and not one of none, uniform"),
    ({"validation_accuracy": 7.5}, "validation_accuracy is 7.5, and no share from 0 to 1"),
    ({"test_accuracy": -0.1}, "test_accuracy is -0.1"),
    ({"gap_auc": 1.1}, "gap_auc is 1.1"),
    ({"p": 80.0}, "p is 80"),
    ({"seed": -1}, "seed is -1, and below 0"),
    ({"n": -5}, "n is -5"),
    ({"seconds": -2.0}, "seconds is -2"),
    ({"p": 0.77}, "noise uniform with p 0.77 and n 48000 is no problem of mnist"),
    ({"n": 5}, "n 5 is no problem of mnist"),
    ({"noise": "none"}, "noise none with p 0.8"),
    ({"precision": "float8"}, "precision is 'float8', and not one of float32, bfloat16"),
    ({"best_epoch": 201}, "epoch 201 is the best of 200"),
    ({"epochs_run": 401}, "the best of 401, and at most 400 were allowed"),
    ({"epochs": 401}, "epochs is 401, and the most are 400"),
    ({"date": "zzzz"}, "date is 'zzzz'"),
    ({"date": "2026-11-15T12:00:00"}, "and not as in 2026-01-31T12:00:00+00:00"),
    ({"hyper": "junk"}, "hyper is 'junk', but of limit-l it has beta=…"),
    ({"hyper": ""}, "hyper is '', but of limit-l it has beta=…"),
    ({"hyper": "sigma=1"}, "hyper is 'sigma=1'"),
    ({"hyper": "beta=10 beta=3"}, "hyper is 'beta=10 beta=3'"),
    ({"hyper": "beta=ten"}, "not as in 'beta=10'"),
    ({"hyper": "beta=nan"}, "not as in 'beta=10'"),
    ({"hyper": "beta=10.0"}, "not as in 'beta=10'"),
    ({"method": "ce", "hyper": "dropout=0.5"}, "but of ce it has nothing"),
    ({"method": "soft-penalty", "hyper": "beta=1 penalty=0.1"}, "it has penalty=… beta=…"),
]


@pytest.mark.parametrize(("changes", "complaint"), BAD)
def test_what_no_study_has_is_refused_with_its_line_and_nothing_is_written(
    tmp_path, make_row, changes, complaint
):
    arriving, out = tmp_path / "from" / "arriving.csv", tmp_path / "deep" / "out"
    append_rows(arriving, [make_row(), make_row(**changes)])
    with pytest.raises(InputError) as caught:
        merge_results([arriving], out)
    assert f"{arriving} is damaged in line 3 (" in str(caught.value)
    assert complaint in str(caught.value)
    assert not (tmp_path / "deep").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"quick": True, "network": "small-cnn"},
        {"validation_accuracy": None, "test_accuracy": None, "gap_auc": None, "bootstrap_std": None},
        {"noise": "none", "p": 0.0},
        {"data": "clothing1m", "noise": "real", "p": None, "n": None, **OF_CLOTHING},
        {"method": "dmi", "hyper": "learning_rate=1e-06"},
        {"method": "soft-penalty", "hyper": "penalty=0.001 beta=0.01"},
        {**OF_FIGURE, "hyper": ""},
        {**OF_FIGURE, "hyper": "dropout=0.5"},
        {**OF_FIGURE, "hyper": "weight_decay=0.0001"},
        {"network": "mlp-4x512"},
    ],
)
def test_rows_of_tables_and_figures_are_sound(make_row, changes):
    check_row(make_row(**changes))


def test_an_open_quotation_mark_costs_one_line(tmp_path, make_row):
    path = tmp_path / "mnist.csv"
    append_rows(path, [make_row(), make_row(seed=1), make_row(seed=2)])
    lines = path.read_text().splitlines()
    lines[2] = '"' + lines[2]
    path.write_text("\n".join([*lines, ""]))
    with pytest.raises(InputError, match="damaged in line 3 "):
        read_rows(path)


def test_the_results_that_are_here_are_sound():
    assert read_rows(RESULTS / "mnist.csv")
    assert read_rows(RESULTS / "cifar10.csv")
