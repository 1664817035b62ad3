"""The folder that an audit writes: complete or not there, in data order, with class names."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.audit.folder import audit_folder, check_audit_folder, write_audit_files
from noiselimit.audit.issues import Audit, audit_probabilities
from noiselimit.data.examples import DataSet, Examples
from noiselimit.errors import InputError

NAMES = ("cat", "dog, small", 'the "owl"')


def write(folder: Path, audit: Audit, p: Any, data: DataSet, overwrite: bool = False) -> None:
    with audit_folder(folder, overwrite=overwrite) as temporary:
        write_audit_files(temporary, audit, p, data)


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
    pd.testing.assert_frame_equal(read, table.astype({"given_label": "str", "predicted_label": "str"}))


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
    np.testing.assert_allclose(read, p, atol=2e-3 if kind == "f2" else 1e-6)
    np.testing.assert_array_equal(read.max(1), read[np.arange(len(read)), p.argmax(1)])


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


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failure_leaves_the_old_state(tmp_path: Path, overwrite: bool) -> None:
    audit, p, data = make()
    out = tmp_path / "out"
    if overwrite:
        write(out, audit, p, data)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def interrupted() -> None:
        with audit_folder(out, overwrite=overwrite) as temporary:
            (temporary / "label_issues.csv").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert len(list(tmp_path.iterdir())) == overwrite


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


def test_the_old_audit_comes_back_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit, p, data = make()
    out, rename = tmp_path / "out", Path.rename
    write(out, audit, p, data)
    before = (out / "pred_probs.npy").read_bytes()

    def failing(self: Path, target: Path) -> Path:
        if self.suffix == ".tmp":
            raise OSError("disk on fire")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="disk on fire"):
        write(out, audit, np.roll(p, 1, 1), data, overwrite=True)
    monkeypatch.undo()
    assert (out / "pred_probs.npy").read_bytes() == before
    assert list(tmp_path.iterdir()) == [out]
