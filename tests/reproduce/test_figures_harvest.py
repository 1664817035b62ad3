"""What a run leaves for figures."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from noiselimit import grid, load_data, train
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.reproduce.figures.curves import read_curves
from noiselimit.reproduce.figures.drawing import draw_figure, sheet_files
from noiselimit.reproduce.figures.gradients import gradient_norms
from noiselimit.reproduce.figures.harvest import harvest, is_lacking
from noiselimit.reproduce.figures.histograms import BINS, SPAN, as_values, read_histograms
from noiselimit.reproduce.figures.kept import Kept, keep, kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.figures.suspects import read_suspects
from noiselimit.reproduce.rows import ResultRow
from noiselimit.runs import Run

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
QUICK = {"quick": True, "network": "small-cnn", "patience": 2}
MakeRow = Callable[..., ResultRow]


@pytest.fixture(scope="module")
def digits() -> DataSet:
    return load_data("digits")


@pytest.fixture(scope="module", params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


@pytest.fixture(scope="module")
def noisy(digits: DataSet, device: torch.device) -> Run:
    (spec,) = grid(
        method="limit-l", beta=1, noise="uniform:0.8", epochs=2, train_size=200, network="small-cnn"
    )
    return train(spec, digits, device=device, threads=1)[0]


@pytest.fixture(scope="module")
def plain(digits: DataSet) -> Run:
    (spec,) = grid(method="ce", epochs=1, train_size=64, network="small-cnn")
    return train(spec, digits, device="cpu", threads=1)[0]


def kept_values(out: Path, kind: str) -> list[str]:
    return [one.values for one in read_kept(kept_file(out, kind))]


def test_a_noisy_run_leaves_curves_and_histograms(
    tmp_path: Path, noisy: Run, digits: DataSet, device: torch.device, make_row: MakeRow
) -> None:
    row = make_row(**QUICK)
    written = harvest(row, noisy, digits, tmp_path, device)
    assert sorted(path.name for path in written) == ["curves.csv", "histograms.csv"]
    (kept,) = read_kept(kept_file(tmp_path, "curves"))
    curves = read_curves(kept)
    for side in ("train", "test", "validation"):
        expected = [record[f"{side}_accuracy"] for record in noisy.history]
        assert getattr(curves, side) == pytest.approx(expected, abs=1e-4)
    (kept,) = read_kept(kept_file(tmp_path, "histograms"))
    found = read_histograms(kept)
    trained = noisy.outputs[noisy.outputs["part"] == "train"]
    wrong = int((trained["given_label"] != trained["clean_label"]).sum())
    for counts in (found.norms, found.gaps):
        assert counts.sum(axis=1).tolist() == [200 - wrong, wrong]
    bin_width = SPAN[1] / found.gaps.shape[1]
    gaps = np.sort(np.concatenate([as_values(counts) for counts in found.gaps]))
    assert np.abs(gaps - np.sort(trained["gap"])).max() <= bin_width / 2 + 1e-9
    (chart,) = draw_figure(FIGURES["histograms-mnist"], tmp_path, quick=True)
    assert chart.name == "histograms-mnist-quick.svg"


def test_norms_are_those_of_the_difference_of_both_networks(
    noisy: Run, digits: DataSet, device: torch.device
) -> None:
    inputs = np.asarray(digits.examples.inputs)[:50]
    ready = noisy.data.standardised(inputs)
    assert noisy.predictor is not None
    with torch.inference_mode():
        predicted = noisy.model(ready)[0].softmax(-1) - noisy.predictor(ready)[0].softmax(-1)
    norms = gradient_norms(noisy, inputs, device)
    assert norms == pytest.approx(
        predicted.square().sum(-1).sqrt().numpy(), abs=5e-3 if device.type == "cuda" else 1e-5
    )
    assert norms.max() <= SPAN[1]


def test_a_run_without_a_predictor_has_no_predicted_gradients(plain: Run, digits: DataSet) -> None:
    with pytest.raises(InputError, match="ce predicts no gradients"):
        gradient_norms(plain, np.asarray(digits.examples.inputs)[:5], torch.device("cpu"))


def test_the_best_run_on_the_original_labels_is_shown(
    tmp_path: Path, noisy: Run, digits: DataSet, device: torch.device, make_row: MakeRow
) -> None:
    row = make_row(noise="none", p=0.0, **QUICK)
    written = harvest(row, noisy, digits, tmp_path, device)
    assert [path.name for path in written] == ["suspects.csv", "suspicious-mnist-quick-1.png"]
    (kept,) = read_kept(kept_file(tmp_path, "suspects"))
    suspects = read_suspects(kept)
    assert [suspect.given for suspect in suspects] == sorted(list(range(10)) * 8)
    worse = dataclasses.replace(row, hyper="beta=1", validation_accuracy=0.1)
    assert [path.name for path in harvest(worse, noisy, digits, tmp_path, device)] == ["suspects.csv"]
    (sheet,) = sheet_files("suspicious-mnist-quick", tmp_path)
    assert draw_figure(FIGURES["suspicious-mnist"], tmp_path, quick=True) == [sheet]
    assert draw_figure(FIGURES["suspicious-mnist"], tmp_path) == []


def test_failed_and_unwanted_runs_leave_nothing(
    tmp_path: Path, noisy: Run, digits: DataSet, device: torch.device, make_row: MakeRow
) -> None:
    other_value = make_row(hyper="beta=7", **QUICK)
    for row in (make_row(failure="no number", **QUICK), make_row(seed=3, **QUICK), other_value):
        assert harvest(row, noisy, digits, tmp_path, device) == []
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_allowed_fewer_epochs_is_lacking_where_only_a_longer_one_is_kept(
    tmp_path: Path, make_row: MakeRow
) -> None:
    long, short = make_row(seed=0), make_row(seed=0, epochs=311)
    for kind, values in (("curves", "1/2"), ("histograms", "/".join([" ".join(["1"] * BINS)] * 4))):
        keep(kept_file(tmp_path, kind), [Kept(long, values)])
    assert not is_lacking(long, tmp_path)
    assert is_lacking(short, tmp_path)
