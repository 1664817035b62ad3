"""Runs as JSON and as the contents of a page."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from noiselimit.data.columns import Categorical, Numeric
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.tables import Table
from noiselimit.report.html import render
from noiselimit.report.runs import load_runs, make_report, readable, show_inputs
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import train

FAST = {"epochs": 2, "batch_size": 16}


def test_every_problem_has_a_sentence_and_differing_settings_have_columns(blobs: DataSet) -> None:
    noises = ["uniform:0.2", "uniform:0.6"]
    specs = grid(method=["ce", "limit-l"], beta=3, noise=noises, learning_rate=[0.001, 0.01], **FAST)
    runs = train(specs, blobs)
    report = make_report("Mixed", runs, blobs)
    assert list(report.runs[0].settings) == ["noise", "learning_rate"]
    assert report.sentence.count("wrong training labels") == 2
    assert report.wrong_share is None  # two problems have no common level
    assert {line.settings["noise"] for line in report.runs} == set(noises)
    assert sum(line.chosen for line in report.runs) == 2
    page = render(report)
    for noise in noises:
        assert f"ce, {noise}, 0.001</text>" in page


def test_a_folder_of_runs_as_a_data_frame(blobs: DataSet, tmp_path: Path) -> None:
    specs = grid(method=["ce", "limit-l"], beta=3, noise=["uniform:0.2", np.eye(3)], seed=[0, 1], **FAST)
    specs.append(RunSpec("ce", learning_rate=1e30, **FAST))
    runs = train(specs, blobs, out=tmp_path)
    table = load_runs(tmp_path)
    assert (len(table), table["chosen"].sum()) == (9, 4)
    assert table["noise"].nunique() == 3  # of which none is a dict
    by_folder = table.set_index("folder")
    for run in runs:
        row = by_folder.loc[str(run.path)]
        assert row["learning_rate"] == run.spec.learning_rate
        assert (row["status"] == "failed") == pd.isna(row["test_accuracy"]) == run.failed
    settings = table.groupby(["method", "beta", "noise"], dropna=False)  # cross-entropy has no beta
    pairs = settings["test_accuracy"].mean()
    assert table["capacity_bits"].mean() is not None  # unknown in all runs
    assert settings.size().tolist() == [1, 2, 2, 2, 2]
    assert pairs.iloc[-1] == np.mean([run.metrics["test_accuracy"] for run in runs[6:8]])


def test_test_labels_are_called_clean_only_if_known(blobs: DataSet) -> None:
    unknown = make_report("", train(RunSpec("ce", **FAST), blobs), blobs)
    assert not unknown.clean_test
    assert "clean" not in unknown.sentence
    assert list(unknown.scores) == ["examples"]
    known = make_report("", train(RunSpec("ce", noise="uniform:0.4", **FAST), blobs), blobs)  # type: ignore[arg-type]
    assert known.clean_test
    assert "clean test labels" in known.sentence


def test_suspects_are_the_largest_gaps_of_training_and_validation(tiny_images: DataSet) -> None:
    run = train(RunSpec("limit-l", noise="uniform:0.4", **FAST), tiny_images)[0]  # type: ignore[arg-type]
    suspects = make_report("", [run], tiny_images).suspects
    gaps = run.outputs.loc[run.outputs["part"] != "test", "gap"]
    assert [suspect.gap for suspect in suspects] == sorted(gaps, reverse=True)[:40]
    for suspect in suspects:  # all pictures share one scale
        expected = tiny_images.examples.inputs[suspect.index] / tiny_images.examples.inputs.max()
        np.testing.assert_array_equal(suspect.image, expected)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_pictures_with_any_number_of_channels_are_shown(channels: int) -> None:
    pictures = np.random.default_rng(0).integers(0, 256, size=(40, channels, 6, 6)).astype(np.uint8)
    data = DataSet("odd", make_examples(pictures, np.arange(40) % 2))
    page = render(make_report("", train(RunSpec("ce", **FAST), data), data))
    assert page.count("data:image/png") == 32  # training and validation examples


def test_readable_values() -> None:
    values = (None, 0.001, {"beta": 3.0}, {}, [[1], [2]], {"given": "worst"})
    assert [readable(value) for value in values] == ["–", "0.001", "beta 3", "none", "2 × 2", "given:worst"]


def test_facts_about_information(blobs: DataSet) -> None:
    facts = make_report(
        "t", train(grid(method="limit-l+s", noise="uniform:0.4", epochs=1), blobs), blobs
    ).facts
    assert facts["Entropy of the noise"].startswith("1.37 bits")
    assert facts["Capacity of the sampled gradients"].startswith("limit-l+s, σ 0.03, seed 0: ")
    unknown = make_report("t", train(grid(method=["ce", "limit-l"], epochs=1), blobs), blobs).facts
    assert "predictor" in unknown["Entropy of the noise"]
    assert "Capacity of the sampled gradients" not in unknown


def test_a_row_of_a_table_is_read_back_from_its_features() -> None:
    table = Table((Numeric("age"), Categorical("town", ("Rome", "Oslo", "")), Numeric("pay")))
    rows = np.array([[30, 0, 1, 0, 2.5], [31, 0, 0, 1, 1e6], [32, 0, 0, 0, -1]], np.float32)
    data = DataSet("t", make_examples(rows, [0, 1, 0]), table=table)
    first, second, third = (shown["columns"] for shown in show_inputs(data, np.arange(3)))
    assert first == [("age", "30"), ("town", "Oslo"), ("pay", "2.5")]
    assert second[1:] == [("town", "missing"), ("pay", "1e+06")]
    assert third[1] == ("town", "–")
    many = DataSet("m", make_examples(np.zeros((2, 50)), [0, 1]))
    assert show_inputs(many, np.arange(1))[0]["columns"][-1] == ("…", "42 more")
