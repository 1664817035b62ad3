"""A run's folder holds the run; what is damaged or altered is reported with the file's name."""

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from noiselimit import InputError, RunSpec, grid, load_run, train
from noiselimit.data.examples import DataSet
from noiselimit.errors import Notice
from noiselimit.networks import NETWORKS
from noiselimit.runs.folder import export_classifier, find_run_folders
from noiselimit.runs.run import Run

SPEC = RunSpec("limit-l", epochs=3, batch_size=16, noise="uniform:0.3")  # type: ignore[arg-type]
FILES = [
    "spec.json", "data.json", "metrics.json", "history.jsonl", "weights.safetensors", "outputs.parquet",
    "averaged.safetensors",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(blobs: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(SPEC, blobs, out=tmp_path_factory.mktemp("runs"), averaged=True)[0]


@pytest.fixture
def copy(run: Run, tmp_path: Path) -> Path:
    assert run.path is not None
    return Path(shutil.copytree(run.path, tmp_path / "run"))


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")


def read_everything(folder: Path) -> None:
    loaded = load_run(folder)
    _ = loaded.weights, loaded.outputs, loaded.averaged


def test_a_loaded_run_is_the_run_that_was_in_memory(run: Run, blobs: DataSet) -> None:
    assert run.path is not None
    assert sorted(path.name for path in run.path.iterdir()) == sorted(FILES)
    loaded, (in_memory,) = load_run(run.path), train(SPEC, blobs, averaged=True)
    assert (loaded.spec, loaded.metrics, loaded.data) == (run.spec, run.metrics, run.data)
    assert list(loaded.history) == list(run.history)
    assert loaded.outputs.equals(in_memory.outputs)
    assert loaded.averaged is not None
    assert in_memory.averaged is not None
    for name in ("index", "classifier", "predictor"):
        assert np.array_equal(getattr(in_memory.averaged, name), getattr(loaded.averaged, name))
    probabilities = loaded.predict_proba(blobs.examples.inputs)
    np.testing.assert_array_equal(probabilities, in_memory.predict_proba(blobs.examples.inputs))


def test_outputs_cover_all_examples_in_data_order(run: Run, blobs: DataSet) -> None:
    outputs = run.outputs
    assert outputs["index"].tolist() == list(range(151))
    assert outputs["part"].value_counts().to_dict() == {"train": 97, "test": 30, "validation": 24}
    wrong = outputs["given_label"] != outputs["clean_label"]
    assert wrong[outputs["part"] == "train"].any()
    assert not wrong[outputs["part"] == "test"].any()
    np.testing.assert_allclose(outputs["label_quality"], 1 - outputs["gap"] / 2**0.5)
    probabilities = run.predict_proba(blobs.examples.inputs)
    assert (probabilities.argmax(1) == outputs["predicted_label"]).all()
    np.testing.assert_allclose(probabilities.max(1), outputs["predicted_probability"], atol=1e-6)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "truncated", "garbage"])
def test_a_damaged_file_is_named(copy: Path, name: str, damage: str) -> None:
    file = copy / name
    if damage == "missing":
        file.unlink()
        if name == "averaged.safetensors":
            assert load_run(copy).averaged is None
            return
    else:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2] if damage == "truncated" else b"\xff\x00[]{}")
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        read_everything(copy)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("metrics.json", {"last_epoch": 4}),
        ("spec.json", {"network": ["mlp"]}),
        ("data.json", {"mean": [0.0]}),
        ("data.json", {"std": [1e300] * 5}),
        ("data.json", {"highest": "x"}),
        ("data.json", {"class_names": ["a"]}),
        ("data.json", {"table": [{"name": "a"}]}),
        ("data.json", {"table": "x"}),
    ],
)
def test_altered_values_are_noticed(copy: Path, name: str, values: dict[str, object]) -> None:
    change(copy / name, **values)
    with pytest.raises(InputError, match="altered"):
        load_run(copy)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"noise": {"block": [[1]]}}, "NOISES.register"),
        ({"method": "own-loss", "hyper": {"strength": 3.0}}, "METHODS.register"),
        ({"network": "own-net"}, "NETWORKS.register"),
    ],
)
def test_a_run_of_unknown_code_says_so_and_still_gives_its_results(
    run: Run, copy: Path, values: dict[str, object], word: str
) -> None:
    change(copy / "spec.json", **values)
    with pytest.warns(Notice, match=word):
        loaded = load_run(copy)
    assert (loaded.metrics, list(loaded.history)) == (run.metrics, list(run.history))
    assert loaded.outputs.equals(run.outputs)
    assert values.items() <= loaded.spec.to_json().items()


@pytest.mark.parametrize("network", ["mlp-4x512", "small-cnn"])
def test_weights_that_do_not_fit_are_refused(copy: Path, network: str) -> None:
    change(copy / "spec.json", network=network)
    with pytest.raises(InputError, match=network):
        _ = load_run(copy).model


def test_folders_of_runs(copy: Path, tmp_path: Path) -> None:
    names = ["ce-seed0-aa", "limit-l-beta0.3-seed0-aa", "limit-l-beta3-seed0-aa", "limit-l-beta10-seed0-aa"]
    for name in [*names, ".unfinished.tmp"]:
        shutil.copytree(copy, tmp_path / "audit" / "runs" / name)
    assert [folder.name for folder in find_run_folders(tmp_path / "audit" / "runs")] == names
    assert find_run_folders(tmp_path / "audit") == find_run_folders(tmp_path / "audit" / "runs")
    assert find_run_folders(copy) == [copy]


def test_not_a_run_folder(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match="run folder"):
            load_run(folder)


def test_a_failed_run_has_no_weights(blobs: DataSet, tmp_path: Path) -> None:
    spec = RunSpec("ce", epochs=2, optimiser="sgd", learning_rate=1e30)
    run = load_run(train(spec, blobs, out=tmp_path)[0].path or "")
    assert run.failed
    assert run.path is not None
    assert not (run.path / "weights.safetensors").exists()
    with pytest.raises(InputError, match="no weights"):
        _ = run.model


def test_an_existing_run_without_averages_is_refused_only_if_they_are_wanted(
    blobs: DataSet, tmp_path: Path
) -> None:
    specs = grid(method="ce", epochs=2)
    (plain,) = train(specs, blobs, out=tmp_path)
    assert plain.averaged is None
    with pytest.raises(InputError, match="averaged"):
        train(specs, blobs, out=tmp_path, averaged=True)
    early = RunSpec("ce", epochs=1000, patience=1, learning_rate=1e-9)  # ends before averages begin
    failing = RunSpec("ce", epochs=2, learning_rate=1e30, optimiser="sgd")
    for _ in range(2):
        runs = train([early, failing], blobs, out=tmp_path, averaged=True)
        assert [run.averaged for run in runs] == [None, None]


def test_the_exported_classifier_is_an_ordinary_state_dict(run: Run, blobs: DataSet, tmp_path: Path) -> None:
    export_classifier(run, tmp_path / "c.safetensors")
    with safe_open(tmp_path / "c.safetensors", "pt") as file:
        state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    module = NETWORKS[metadata["network"]].build(tuple(json.loads(metadata["input_shape"])), 3)
    module.load_state_dict(state)
    mean, std = (torch.tensor(json.loads(metadata[name])) for name in ("mean", "std"))
    with torch.no_grad():
        logits, _ = module.eval()((torch.from_numpy(blobs.examples.inputs) - mean) / std)
    np.testing.assert_allclose(logits.softmax(-1), run.predict_proba(blobs.examples.inputs), atol=1e-6)


def test_contents_are_found_after_a_change_of_folder(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = train(RunSpec("ce", epochs=1), blobs, out="runs")[0]
    monkeypatch.chdir("/")
    assert len(run.outputs) == 151
    assert str(run.path).startswith("runs")


def test_a_full_disk_leaves_no_folder(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="No space left"):
        train(RunSpec("ce", epochs=1), blobs, out=tmp_path)
    assert not list(tmp_path.iterdir())
