import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from noiselimit import InputError, RunSpec, load_run, train
from noiselimit.data.examples import DataSet
from noiselimit.runs.folder import export_classifier
from noiselimit.runs.run import Run


@pytest.fixture(scope="module")
def run(blobs: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs")
    return train(RunSpec("limit-l", epochs=3, batch_size=16, noise="uniform:0.3"), blobs, out=folder)[0]  # type: ignore[arg-type]


def read_everything(folder: Path) -> None:
    loaded = load_run(folder)
    _ = loaded.weights, loaded.outputs


@pytest.fixture
def copy(run: Run, tmp_path: Path) -> Path:
    import shutil

    assert run.path is not None
    return Path(shutil.copytree(run.path, tmp_path / "run"))


def test_a_loaded_run_is_the_run(run: Run, blobs: DataSet) -> None:
    assert run.path is not None
    loaded = load_run(run.path)
    assert loaded.spec == run.spec
    assert list(loaded.history) == list(run.history)
    assert loaded.metrics == run.metrics
    assert loaded.data == run.data
    assert loaded.predictor is not None
    outputs = loaded.outputs.set_index("index")
    said = loaded.predict_proba(blobs.examples.inputs)[outputs.index]
    assert (said.argmax(1) == outputs["predicted_label"]).all()
    np.testing.assert_allclose(said.max(1), outputs["predicted_probability"], atol=1e-6)


def test_per_example_outputs_cover_all_examples_in_data_order(run: Run) -> None:
    outputs = run.outputs
    assert outputs["index"].tolist() == list(range(151))
    assert outputs["part"].value_counts().to_dict() == {"train": 97, "test": 30, "validation": 24}
    wrong = outputs["given_label"] != outputs["clean_label"]
    assert wrong[outputs["part"] == "train"].any()
    assert not wrong[outputs["part"] == "test"].any()
    np.testing.assert_allclose(outputs["label_quality"], 1 - outputs["gap"] / 2**0.5)


def test_inputs_of_another_shape_are_refused(run: Run) -> None:
    with pytest.raises(InputError, match=r"inputs have shape \[4\] each, but the run was trained on \[5\]"):
        run.predict_proba(np.zeros((3, 4)))


@pytest.mark.parametrize(
    "name",
    ["spec.json", "data.json", "metrics.json", "history.jsonl", "weights.safetensors", "outputs.parquet"],
)
@pytest.mark.parametrize("damage", ["missing", "truncated", "garbage"])
def test_a_damaged_folder_gets_a_sentence(copy: Path, name: str, damage: str) -> None:
    file = copy / name
    if damage == "missing":
        file.unlink()
    elif damage == "truncated":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    else:
        file.write_bytes(b"\xff\x00[]{}")
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        read_everything(copy)


def test_a_history_cut_between_two_lines_is_noticed(copy: Path) -> None:
    lines = (copy / "history.jsonl").read_text().splitlines(keepends=True)
    (copy / "history.jsonl").write_text("".join(lines[:-1]))
    with pytest.raises(InputError, match=r"history\.jsonl cannot be read"):
        load_run(copy)


def test_weights_that_do_not_fit_are_refused(copy: Path) -> None:
    spec = json.loads((copy / "spec.json").read_text())
    (copy / "spec.json").write_text(json.dumps({**spec, "network": "mlp-4x512"}))
    with pytest.raises(InputError, match="do not fit network 'mlp-4x512'"):
        _ = load_run(copy).model


def test_not_a_run_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run folder"):
        load_run(tmp_path / "absent")
    with pytest.raises(InputError, match=r"is not a run folder: it has no spec\.json"):
        load_run(tmp_path)


def test_a_failed_run_is_written_without_weights(blobs: DataSet, tmp_path: Path) -> None:
    spec = RunSpec("ce", epochs=2, optimiser="sgd", learning_rate=1e30)
    run = load_run(train(spec, blobs, out=tmp_path)[0].path or "")
    assert run.failed
    assert run.path is not None
    assert not (run.path / "weights.safetensors").exists()
    with pytest.raises(InputError, match=r"has no weights: .* was not a finite number at step 0"):
        _ = run.model


def test_the_exported_classifier_is_an_ordinary_state_dict(run: Run, blobs: DataSet, tmp_path: Path) -> None:
    from safetensors import safe_open

    from noiselimit.networks import NETWORKS

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


def test_everybody_who_may_read_the_folder_may_read_its_files(run: Run) -> None:
    assert run.path is not None
    modes = {file.stat().st_mode & 0o777 for file in run.path.iterdir()}
    assert len(modes) == 1
    assert run.path.stat().st_mode & 0o777 == modes.pop() | 0o111


def test_weights_are_read_without_the_outputs(copy: Path) -> None:
    (copy / "outputs.parquet").write_bytes(b"damaged")
    assert load_run(copy).model is not None


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("metrics.json", {"versions": None}),
        ("metrics.json", {"gap_auc": "x"}),
        ("data.json", {"mean": [0.0]}),
        ("data.json", {"highest": "x"}),
        ("data.json", {"resize": "x"}),
        ("data.json", {"resize": -1}),
    ],
)
def test_altered_values_are_noticed(copy: Path, name: str, changes: dict[str, object]) -> None:
    content = json.loads((copy / name).read_text())
    (copy / name).write_text(json.dumps({**content, **changes}))
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        load_run(copy)


def test_a_network_that_cannot_take_the_inputs_is_an_altered_folder(copy: Path) -> None:
    spec = json.loads((copy / "spec.json").read_text())
    (copy / "spec.json").write_text(json.dumps({**spec, "network": "small-cnn"}))
    with pytest.raises(InputError, match="do not fit network 'small-cnn'"):
        _ = load_run(copy).model


def test_contents_are_found_after_a_change_of_folder(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = train(RunSpec("ce", epochs=1), blobs, out="runs")[0]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(run.outputs) == 151
    assert str(run.path).startswith("runs")


def test_a_disk_that_refuses_the_weights_is_a_sentence(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="No space left"):
        train(RunSpec("ce", epochs=1), blobs, out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_pictures_on_another_scale_are_refused(tiny_images: DataSet) -> None:
    run = train(RunSpec("ce", epochs=1), tiny_images)[0]
    with pytest.raises(InputError, match="inputs go up to 1, but the run was trained on values up to"):
        run.predict_proba(tiny_images.examples.inputs / tiny_images.examples.inputs.max())
