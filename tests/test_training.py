"""`train` finds, trains, stops and records runs."""

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from torch.utils.data import TensorDataset

import noiselimit
from noiselimit import InputError, RunSpec, grid, train
from noiselimit.data.examples import DataSet
from noiselimit.training import Progress, Stopped


def test_arrays_and_datasets_give_the_same_run(blobs: DataSet) -> None:
    spec = RunSpec("limit-l", epochs=2, batch_size=16)
    inputs, labels = blobs.examples.inputs, blobs.examples.labels
    tensors = TensorDataset(torch.from_numpy(inputs), torch.from_numpy(labels))
    runs = [train(spec, given)[0] for given in (blobs, blobs.examples, (inputs, labels), tensors)]
    assert len({run.spec.hash for run in runs}) == 1
    assert all(run.history == runs[0].history for run in runs)


def test_a_run_that_exists_is_skipped_and_equal_specs_train_once(blobs: DataSet, tmp_path: Path) -> None:
    specs = grid(method=["ce", "limit-l"], epochs=2, batch_size=16, noise="uniform:0.3")
    heard: list[Progress] = []
    first = train([*specs, specs[0]], blobs, out=tmp_path, progress=heard.append)
    assert first[0].path == first[2].path
    assert sum(news.record is not None for news in heard) == 4
    assert heard[-1].done == heard[-1].total == 4
    heard.clear()
    second = train(specs, blobs, out=tmp_path, progress=heard.append)
    assert all(news.record is None for news in heard)
    assert [run.history for run in second] == [list(run.history) for run in first[:2]]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(run.spec.folder_name for run in second)


@pytest.mark.parametrize("asked", [3, 20])  # in the midst of an epoch of 23 steps, and of its evaluation
def test_a_training_can_be_stopped_at_any_step(
    blobs: DataSet, tmp_path: Path, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noiselimit.engine.block.SHORT_EPOCH", 0.0)
    asks: list[int] = []
    updates: list[Progress] = []

    def stop() -> bool:
        asks.append(len(updates))
        return any(news.record is None for news in updates) and asks.count(len(updates)) >= asked

    specs = grid(epochs=[1, 50], batch_size=4, network="linear", method="ce")
    with pytest.raises(Stopped):
        train(specs, blobs, out=tmp_path, threads=1, progress=updates.append, stop=stop)
    assert len(list(tmp_path.glob("*/spec.json"))) == 1
    assert [news.record["epoch"] for news in updates if news.record] == [1, 1]
    assert len(asks) < 60


def test_what_is_known_of_the_labels_is_recorded(blobs: DataSet) -> None:
    specs = grid(method="limit-l", noise=["uniform:0.4", "none"], epochs=1, train_size=50)
    noisy, unknown = (run.metrics for run in train(specs, blobs))
    assert (noisy["train_examples"], noisy["test_examples"]) == (50, 30)
    assert noisy["wrong_labels"] == pytest.approx(0.4, abs=0.25)
    assert unknown["memorised_wrong_labels"] is unknown["gap_auc"] is None


def test_clean_labels_are_used_for_testing(blobs: DataSet) -> None:
    examples = blobs.examples
    given = np.where(np.arange(len(examples)) % 4 == 0, (examples.labels + 1) % 3, examples.labels)
    known = noiselimit.make_examples(examples.inputs, given, clean_labels=examples.labels)
    for data in (DataSet("held out", known), DataSet("own test part", known, known)):
        run = train(RunSpec("ce", epochs=3, batch_size=16, patience=3), data)[0]
        held = data.test or known
        rows = np.arange(len(held)) if data.test else run.outputs.query("part == 'test'")["index"].to_numpy()
        predicted = run.predict_proba(held.inputs[rows]).argmax(1)
        assert run.metrics["test_accuracy"] == pytest.approx(
            (predicted == examples.labels[rows]).mean(), abs=1e-9
        )
        assert run.outputs["given_label"].tolist() == given[run.outputs["index"]].tolist()


def test_odd_but_valid_inputs_train(blobs: DataSet) -> None:
    inputs = blobs.examples.inputs.copy()
    inputs[:, 0] = np.where(np.arange(len(inputs)) % 2, 1e-45, 0)  # a deviation that float32 cannot hold
    inputs.flags.writeable = False
    assert not train(RunSpec("ce", epochs=1), (inputs, blobs.examples.labels))[0].failed


def test_public_names_are_all_there() -> None:
    for name in noiselimit.__all__:
        assert getattr(noiselimit, name) is not None
    assert dir(noiselimit) == sorted(noiselimit.__all__)
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        _ = noiselimit.trian


def test_initial_weights_serve_the_networks_they_fit(blobs: DataSet, tmp_path: Path) -> None:
    (first,) = train(RunSpec("ce", network="mlp", epochs=2), blobs)
    path = tmp_path / "w.safetensors"
    safetensors.torch.save_file(dict(first.weights.classifier), path)
    still = {"learning_rate": 1e-30, "epochs": 1, "network": "mlp", "initial_weights": str(path)}
    both, other = train(grid(predictor_network=["mlp", "linear"], **still), blobs)
    expected = first.weights.classifier["head.weight"]
    assert other.weights.predictor is not None
    assert torch.equal(both.weights.classifier["head.weight"], expected)
    assert torch.equal(both.weights.predictor["head.weight"], expected)
    assert torch.equal(other.weights.classifier["head.weight"], expected)
    assert set(other.weights.predictor) == {"head.weight", "head.bias"}

    specs = grid(method="ce", network=["linear", "mlp"], epochs=1, initial_weights=str(path))
    with pytest.raises(InputError, match=r"w\.safetensors"):  # it does not fit 'linear'
        train(specs, blobs, out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_bad_arguments_are_refused_and_leave_nothing_behind(blobs: DataSet, tmp_path: Path) -> None:
    spec = RunSpec("ce", epochs=1)
    (tmp_path / "file").touch()
    for specs, how, word in (
        ([], {}, "RunSpec"),
        (spec, {"threads": 0}, "threads is 0"),
        (spec, {"threads": 2, "threads_per_block": 9999999}, "threads_per_block is 9999999"),
        (spec, {"checkpoints": "often"}, "checkpoints is 'often'"),
        (RunSpec(network="small-cnn"), {}, "small-cnn"),
        (RunSpec(train_size=1000), {}, "train_size is 1000"),
        (RunSpec(train_size=2), {}, "train_size is 2"),
        (spec, {"out": tmp_path / "file" / "runs"}, "cannot write to folder"),
    ):
        with pytest.raises(InputError, match=word):
            train(specs, blobs, **{"out": tmp_path / "runs", **how})
    with pytest.raises(ValueError, match="labels"):
        train(spec, (np.zeros((4, 2)), [0, 1, 0]))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_is_not_this_run_is_in_the_way(blobs: DataSet, tmp_path: Path) -> None:
    spec = RunSpec("ce", epochs=1)
    path = train(spec, blobs, out=tmp_path)[0].path
    content = json.loads((path / "spec.json").read_text())
    (path / "spec.json").write_text(json.dumps({**content, "seed": 7}))
    with pytest.raises(InputError, match="different run"):
        train(spec, blobs, out=tmp_path)
    (path / "spec.json").unlink()
    with pytest.raises(InputError, match="not a run folder"):
        train(spec, blobs, out=tmp_path)
