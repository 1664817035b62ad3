"""What is no row of ours is told apart from what is."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.reproduce.merging.all import merge_results
from noiselimit.reproduce.row_checks import ALL_OR_NONE, check_row
from noiselimit.reproduce.rows import COLUMNS, HEADER, line_of, row_of, split_line
from noiselimit.reproduce.rows_file import append_rows, read_rows, sound_row

RESULTS = Path(__file__).parents[2] / "results" / "reproduce"
LINE = (
    "mnist,uniform,0.8,48000,limit-l,beta=10,0,400,100,mnist-cnn,bfloat16,no,200,100,0.198,2.2,0.976,0.0015,"
    "0.9989,5,,NVIDIA H200,noiselimit=0.1.0,abcdef0,2026-11-15T12:00:00+00:00"
)
OF_FIGURE = {"network": "mlp-4x512", "method": "ce"}
OF_CLOTHING = {"network": "resnet-50", "epochs": 30, "epochs_run": 30, "best_epoch": 9}
EARLY = {"epochs": 9, "epochs_run": 8, "best_epoch": 8}
NOTHING = {**dict.fromkeys(ALL_OR_NONE), "gap_auc": None, "best_epoch": 0}
FAILED = {**NOTHING, "failure": "the loss is not finite"}
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
    ({"seed": -(10**400)}, "seed is -1000"),
    ({"seconds": 1e300}, "seconds is 1e+300, and a year has 31622400"),
    ({"seconds": float("inf")}, "seconds is 'inf', and no number to reckon with"),
    ({"validation_loss": -0.5}, "validation_loss is -0.5, and below 0"),
    ({"validation_accuracy": None}, "validation_accuracy is empty, and validation_loss, test_accuracy"),
    ({"validation_loss": None}, "validation_loss is empty, and validation_accuracy, test_accuracy"),
    ({"test_accuracy": None}, "test_accuracy is empty, and "),
    ({"bootstrap_std": None}, "bootstrap_std is empty, and validation_accuracy, "),
    ({"test_accuracy": None, "bootstrap_std": None}, "test_accuracy, bootstrap_std is empty, and "),
    ({"best_epoch": 0}, "best_epoch is 0, and validation_accuracy is not empty"),
    ({**FAILED, "best_epoch": 3}, "best_epoch is 3, and validation_accuracy is empty"),
    ({**FAILED, "gap_auc": 0.9}, "gap_auc is 0.9, and validation_accuracy is empty"),
    (NOTHING, "there is neither a result nor a failure"),
    ({"network": "../../x"}, "network is '../../x', and neither one of "),
    ({"network": "resnet-3"}, " nor as in 'package.module:factory'"),
    ({"network": ""}, "network is ''"),
    ({"p": 0.77}, "noise uniform with p 0.77 and n 48000 is no problem of mnist"),
    ({"n": 5}, "n 5 is no problem of mnist"),
    ({"noise": "none"}, "noise none with p 0.8"),
    ({"precision": "float8"}, "precision is 'float8', and not one of float32, bfloat16"),
    ({"best_epoch": 201}, "epoch 201 is the best of 200"),
    ({"epochs_run": 401}, "the best of 401, and at most 400 were allowed"),
    (EARLY, "it ended after 8 of 9 epochs without a failure, and patience is 100"),
    ({"epochs_run": 99, "best_epoch": 9}, "it ended after 99 of 400 epochs"),
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
        FAILED,
        {"failure": "the loss is not finite"},
        {**EARLY, "failure": "the loss is not finite"},
        {**EARLY, "epochs_run": 9},
        {"epochs_run": 101},
        {"gap_auc": None},
        {"validation_loss": 0.0, "bootstrap_std": 0.0, "validation_accuracy": 1.0, "test_accuracy": 1.0},
        {"network": "package.module:factory"},
        {"device": "Intel® Core™ 数"},
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


def changed_line(row, **texts):
    """The row's line with these texts in the place of its own."""
    return ",".join({**dict(zip(COLUMNS, line_of(row).split(","), strict=True)), **texts}.values())


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ({"seed": "1_0"}, "seed is '1_0', and no whole number"),
        ({"seed": " 1"}, "seed is ' 1', and no whole number"),
        ({"seed": "١"}, "seed is '١', and no whole number"),
        ({"n": "48_000"}, "n is '48_000', and no whole number"),
        ({"epochs": ""}, "epochs is '', and no whole number"),
        ({"patience": "9" * 5000}, "and no whole number"),
        ({"p": "0.8_0"}, "p is '0.8_0', and no number to reckon with"),
        ({"test_accuracy": "nan"}, "test_accuracy is 'nan', and no number to reckon with"),
        ({"test_accuracy": "."}, "test_accuracy is '.'"),
        ({"seconds": "1e999"}, "seconds is '1e999'"),
        ({"device": "NVIDIA\0H200"}, r"device is 'NVIDIA\x00H200', and has characters that nobody can see"),
        ({"versions": "\x1b[2J"}, r"versions is '\x1b[2J'"),
        ({"failure": "\u202egone"}, r"failure is '\u202egone'"),
        ({"commit": "a\tb"}, r"commit is 'a\tb'"),
    ],
)
def test_what_no_row_of_ours_is_written_like_is_refused(tmp_path, make_row, texts, complaint):
    path = tmp_path / "mnist.csv"
    path.write_text(f"{HEADER}\n{changed_line(make_row(), **texts)}\n", "utf-8")
    with pytest.raises(InputError, match=r"mnist\.csv is damaged in line 2 \(") as caught:
        read_rows(path)
    assert complaint in str(caught.value)


@given(st.text(), st.text())
def test_whatever_a_device_is_called_its_rows_can_be_read(device, failure):
    row = replace(row_of(split_line(LINE)), device=device, failure=failure)
    again = sound_row(split_line(line_of(row)))
    assert replace(again, device=device, failure=failure) == row


def test_an_open_quotation_mark_costs_one_line(tmp_path, make_row):
    path = tmp_path / "mnist.csv"
    append_rows(path, [make_row(), make_row(seed=1), make_row(seed=2)])
    lines = path.read_text().splitlines()
    lines[2] = '"' + lines[2]
    path.write_text("\n".join([*lines, ""]))
    with pytest.raises(InputError, match="damaged in line 3 "):
        read_rows(path)


def test_the_results_that_are_here_are_sound():
    files = sorted(RESULTS.glob("*.csv"))
    assert {path.stem for path in files} >= {"mnist", "cifar10"}
    assert all(read_rows(path) for path in files)
