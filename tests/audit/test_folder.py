"""An audit's folder: what is written, and what is opened again, also if the data moved or changed."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from noiselimit.audit.fit import AuditFit
from noiselimit.audit.folder import check_audit_folder, open_audit, save_audit
from noiselimit.audit.issues import Audit, audit_probabilities
from noiselimit.audit.label_model import fit_label_model
from noiselimit.audit.saved import Origin
from noiselimit.data.catalogue import load_data
from noiselimit.data.examples import DataSet, Examples
from noiselimit.data.reading import CACHE, Reading
from noiselimit.errors import InputError
from noiselimit.features.cache import Embedding, FeatureCache
from noiselimit.features.pictures import digest_pictures
from tests.audits import saved

NAMES = ("cat", "dog, small", 'the "owl"')


def write(folder: Path, audit: Audit, p: Any, data: DataSet, overwrite: bool = False) -> None:
    model = fit_label_model([p], data.examples.labels)
    fit = AuditFit(model, ("made up",), len(p), [], [])
    save_audit(folder, audit, fit, data, Origin("pets", Reading()), overwrite=overwrite)


def make(
    rows: int = 40, seed: int = 0, names: tuple[str, ...] = NAMES, paths: bool = True
) -> tuple[Audit, np.ndarray, DataSet]:
    generator = np.random.default_rng(seed)
    labels = np.arange(rows) % len(names)
    logits = 3 * np.eye(len(names))[labels] + generator.normal(size=(rows, len(names)))
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels[len(names) : len(names) + 4] = np.roll(labels[len(names) : len(names) + 4], 1)
    files = [f"{names[label]}/{row}\r é.png" for row, label in enumerate(labels)] if paths else None
    examples = Examples(np.zeros((rows, 2), np.float32), labels, names, names=files)
    return audit_probabilities(labels, p), p, DataSet("pets", examples)


def test_files_hold_names_in_data_order(tmp_path: Path) -> None:
    audit, p, data = make()
    write(tmp_path / "out", audit, p, data)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    table = pd.read_parquet(tmp_path / "out" / "label_issues.parquet")
    assert list(table) == [*audit.table, "path"]
    assert table["path"].tolist() == list(data.examples.names or ())
    assert table["is_label_issue"].tolist() == audit.table["is_label_issue"].tolist()
    assert table["is_label_issue"].any()
    for column in ("given_label", "predicted_label"):  # codes are columns of pred_probs
        assert table[column].cat.categories.tolist() == list(NAMES)
        assert table[column].cat.codes.tolist() == audit.table[column].tolist()
    read = pd.read_csv(tmp_path / "out" / "label_issues.csv")
    pd.testing.assert_frame_equal(
        read, table.astype({"given_label": "str", "predicted_label": "str"}), check_dtype=False
    )


def test_missing_labels_missing_paths_and_names_out_of_order(tmp_path: Path) -> None:
    _, p, data = make(30, 1, ("9", "10", "=cmd|' /C calc'!A0"), paths=False)
    labels: list[float | None] = data.examples.labels.tolist()
    labels[5] = None
    write(tmp_path / "out", audit_probabilities(labels, p), p, data)
    table = pd.read_parquet(tmp_path / "out" / "label_issues.parquet")
    assert list(table)[-1] == "row"
    assert table["given_label"].cat.codes.tolist() == [-1 if label is None else label for label in labels]
    assert table["predicted_label"].notna().all()
    read = pd.read_csv(tmp_path / "out" / "label_issues.csv", dtype=str)
    assert read["given_label"].fillna("").tolist() == table["given_label"].astype(object).fillna("").tolist()


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 40), st.integers(0, 2**20), st.sampled_from(["f2", "f4", "f8"]))
def test_probabilities_sum_to_one_and_keep_their_order(
    tmp_path_factory: pytest.TempPathFactory, classes: int, seed: int, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("p")
    audit, p, data = make(3 * classes, seed, tuple(f"c{i}" for i in range(classes)))
    p = p.astype(kind)
    write(folder / "out", audit, p, data)
    read = np.load(folder / "out" / "pred_probs.npy")
    assert (read.dtype, read.shape) == (np.float32, p.shape)
    assert np.abs(read.sum(1, dtype=np.float64) - 1).max() < 1e-6
    assert 0 <= read.min() <= read.max() <= 1
    model = fit_label_model([p], data.examples.labels)
    np.testing.assert_allclose(read, model.true_classes(slice(None)), atol=1e-6)


def test_an_existing_folder_is_replaced_only_if_asked_and_if_it_is_an_audit(tmp_path: Path) -> None:
    audit, p, data = make()
    out = tmp_path / "out"
    write(out, audit, p, data)
    before = (out / "pred_probs.npy").read_bytes()
    with pytest.raises(InputError, match="--overwrite"):
        write(out, audit, np.roll(p, 1, 1), data)
    assert (out / "pred_probs.npy").read_bytes() == before
    write(out, audit, np.roll(p, 1, 1), data, overwrite=True)
    assert (out / "pred_probs.npy").read_bytes() != before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (out / "thesis.tex").write_text("years")
    with pytest.raises(InputError, match=r"thesis\.tex"):
        write(out, audit, p, data, overwrite=True)
    with pytest.raises(InputError, match="file"):
        write(out / "thesis.tex", audit, p, data, overwrite=True)


@pytest.mark.parametrize("done", [False, True])
def test_the_next_call_finishes_or_undoes_a_killed_replacement(tmp_path: Path, done: bool) -> None:
    audit, p, data = make()
    out = tmp_path / "out"
    write(out, audit, p, data)
    old = tmp_path / ".out.noiselimit-old"
    out.rename(old)  # as kill -9 leaves it between the two renames
    if done:  # or after them
        shutil.copytree(old, out)
    with pytest.raises(InputError, match="--overwrite"):
        check_audit_folder(out, overwrite=False)
    assert list(tmp_path.iterdir()) == [out]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Numbers of very different size, sentences, and labels of which one is missing."""
    generator = np.random.default_rng(0)
    words = [f"the {'red' if row % 2 else 'blue'} door number {row} is open" for row in range(40)]
    kinds = np.array(["cat", "dog"], object)[np.arange(40) % 2]
    kinds[7] = None
    x, y = generator.normal(size=(2, 40))
    pd.DataFrame({"x": x, "y": 1e6 * y, "words": words, "kind": kinds}).to_csv(
        tmp_path / "a.csv", index=False
    )
    return tmp_path / "a.csv"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for row in range(12):
        path = tmp_path / "photos" / f"kind {row % 3}" / f"{row}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((20, 24, 3), 20 * row, np.uint8)).save(path)
    return tmp_path / "photos"


def test_a_table_is_loaded_again_as_it_was_read(table: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    reading = Reading(label="kind", ignore=("x",), features="tf-idf")
    audit = saved("a.csv", tmp_path / "out", reading)
    monkeypatch.chdir("/")
    data, first = audit.load(), load_data(table, reading=replace(reading, keep_unlabelled=True))
    np.testing.assert_array_equal(data.examples.inputs, first.examples.inputs)
    assert (data.examples.labels.tolist(), audit.given.tolist()) == (first.examples.labels.tolist(),) * 2
    assert [audit.given[7], audit.class_names, audit.summary["flagged"]] == [-1, ("cat", "dog"), 4]
    assert audit.table["text_words"].tolist() == data.examples.kept["text_words"].tolist()
    features = audit.features()
    assert features.dtype == np.float32
    assert features.std(0).max() < 1.01  # a column with large numbers does not drown the others


@pytest.mark.parametrize("reading", [Reading(), Reading(resize=8)])
def test_pictures_are_loaded_again(photos: Path, tmp_path: Path, reading: Reading) -> None:
    audit = saved(photos, tmp_path / "out", reading)
    assert audit.load().shown.shape[0] == 12
    assert audit.features().shape[0] == 12
    assert 0 <= audit.features().min() <= audit.features().max() <= 1
    brightness = audit.features().mean(1) * 220 / 255
    order = [int(Path(path).stem) for path in audit.table["path"]]
    np.testing.assert_allclose(brightness, 20 * np.array(order) / 255, atol=1e-6)


def test_features_of_an_unknown_model_come_from_the_cache(photos: Path, tmp_path: Path) -> None:
    saved(photos, tmp_path / "out")
    model = Embedding("my.own:model", "0123abcd", 3, 20)
    audit = replace(open_audit(tmp_path / "out"), embedding=model)
    assert audit.features().shape[1] > 3  # pixels: the model is not run
    keys = digest_pictures(audit.load().examples.inputs)
    features = np.arange(36, dtype=np.float32).reshape(12, 3)
    FeatureCache(model, tmp_path / CACHE).add(keys, features)
    np.testing.assert_array_equal(audit.features(), features)


def test_added_noise_is_there_again(tmp_path: Path) -> None:
    audit = saved("digits", tmp_path / "out", noise="uniform:0.3")
    examples = audit.load().examples
    assert examples.labels.tolist() == audit.given.tolist()
    assert 0.2 < float(np.mean(examples.wrong)) < 0.4
    assert audit.place is None


def test_data_that_moved_or_changed(table: Path, photos: Path, tmp_path: Path) -> None:
    tables = saved(table, tmp_path / "t", Reading(label="kind"))
    pictures = saved(photos, tmp_path / "p")
    table.rename(tmp_path / "b.csv")
    with pytest.raises(InputError, match="--data"):
        tables.load()
    moved = open_audit(tmp_path / "t", data=tmp_path / "b.csv")
    assert len(moved.load().examples) == 40
    (tmp_path / "b.csv").write_text((tmp_path / "b.csv").read_text().replace("blue", "grey"))
    with pytest.raises(InputError, match="changed"):
        open_audit(tmp_path / "t", data=tmp_path / "b.csv").load()
    photos.rename(tmp_path / "new")
    assert len(open_audit(tmp_path / "p", data=tmp_path / "new").load().examples) == 12
    (tmp_path / "new" / "kind 0" / "0.png").unlink()
    with pytest.raises(InputError, match="changed"):
        _ = open_audit(tmp_path / "p", data=tmp_path / "new").place
    with pytest.raises(InputError, match="--data"):
        pictures.load()


def test_a_folder_names_no_code_to_run(table: Path, tmp_path: Path, monkeypatch: Any) -> None:
    saved(table, tmp_path / "out", Reading(label="kind", features="tf-idf"))
    (tmp_path / "evil.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "out" / "audit.json"
    path.write_text(path.read_text().replace('"features": "tf-idf"', '"features": "evil:run"'))
    assert open_audit(tmp_path / "out").load().examples.kept["text_words"][0].startswith("the blue")


def test_folders_that_cannot_be_opened(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InputError, match="not the folder"):
        open_audit(out)
    saved(table, out, Reading(label="kind"))
    path = out / "audit.json"
    whole = path.read_text()

    def refused(words: str, change: Any = None) -> None:
        if change is not None:
            content = json.loads(whole)
            change(content)
            path.write_text(json.dumps(content))
        with pytest.raises(InputError, match=words):
            open_audit(out)
        path.write_text(whole)

    refused("install", lambda content: content.update(format=2))
    refused("again", lambda content: content.pop("summary"))
    refused("again", lambda content: content.update(class_names=["cat", "eel"]))
    refused("again", lambda content: content["data"]["reading"].update(ignore="x"))
    refused("again", lambda content: content["data"]["reading"].update(resize="9"))
    refused("again", lambda content: content["data"].update(path=3))
    model = {"name": "a", "digest": "../..", "dimension": 3, "side": 9}
    refused("again", lambda content: content.update(embedding=model))
    np.save(out / "pred_probs.npy", np.ones((3, 2), np.float32))
    refused("again")
    path.unlink()
    with pytest.raises(InputError, match="older"):
        open_audit(out)


def test_an_audit_that_was_reviewed_is_not_replaced(tmp_path: Path) -> None:
    audit, p, data = make()
    write(tmp_path / "out", audit, p, data)
    (tmp_path / "out" / "decisions.sqlite").write_bytes(b"years")
    with pytest.raises(InputError, match="decisions"):
        write(tmp_path / "out", audit, p, data, overwrite=True)
    assert (tmp_path / "out" / "decisions.sqlite").read_bytes() == b"years"
