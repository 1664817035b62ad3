"""The folder that an audit writes: complete or not there, in data order, with names."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.audit.folder import audit_folder, write_audit
from noiselimit.audit.issues import Audit, audit_probabilities
from noiselimit.data.examples import DataSet, Examples
from noiselimit.errors import InputError

NAMES = ("cat", "dog, small", 'the "owl"')
FILES = ["label_issues.csv", "label_issues.parquet", "pred_probs.npy"]


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
    write_audit(tmp_path / "out", audit, p, data)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    table = pd.read_parquet(tmp_path / "out" / "label_issues.parquet")
    assert list(table) == [*audit.table, "path"]
    assert table["given_label"].tolist() == [NAMES[label] for label in data.examples.labels]
    assert table["predicted_label"].tolist() == [NAMES[label] for label in audit.table["predicted_label"]]
    assert table["path"].tolist() == list(data.examples.names or ())
    assert table["is_label_issue"].tolist() == audit.table["is_label_issue"].tolist()
    assert table["is_label_issue"].any()
    # Numbers of columns of pred_probs.
    assert table["given_label"].cat.categories.tolist() == list(NAMES)
    assert table["given_label"].cat.codes.tolist() == data.examples.labels.tolist()
    assert table["predicted_label"].cat.codes.tolist() == audit.table["predicted_label"].tolist()
    read = pd.read_csv(tmp_path / "out" / "label_issues.csv")
    pd.testing.assert_frame_equal(read, table.astype({"given_label": "str", "predicted_label": "str"}))


def test_rows_without_paths_and_without_labels(tmp_path: Path) -> None:
    _, p, data = make(paths=False)
    labels: list[float | None] = data.examples.labels.tolist()
    labels[5] = None
    write_audit(tmp_path / "out", audit_probabilities(labels, p), p, data)
    table = pyarrow.parquet.read_table(tmp_path / "out" / "label_issues.parquet")
    assert table.column_names[-1] == "row"
    assert table.column("given_label").null_count == 1
    assert table.column("given_label")[5].as_py() is None
    assert table.column("predicted_label").null_count == 0


def test_labels_are_numbers_of_columns_in_the_order_of_the_data(tmp_path: Path) -> None:
    _, p, data = make(30, 1, ("9", "10", "a"))  # sorted, 10 would come first
    labels: list[float | None] = data.examples.labels.tolist()
    labels[5] = None
    write_audit(tmp_path / "out", audit_probabilities(labels, p), p, data)
    given_labels = pd.read_parquet(tmp_path / "out" / "label_issues.parquet")["given_label"]
    assert given_labels.cat.codes.tolist() == [-1 if label is None else label for label in labels]
    assert given_labels.cat.categories.tolist() == ["9", "10", "a"]


def test_names_that_are_formulas_to_a_spreadsheet_stay_what_they_are(tmp_path: Path) -> None:
    names = ("+1", "-1", "=cmd|' /C calc'!A0", "@SUM(A1)")
    audit, p, data = make(40, 1, names)
    write_audit(tmp_path / "out", audit, p, data)
    found = pd.read_csv(tmp_path / "out" / "label_issues.csv", dtype=str)["given_label"]
    assert found.tolist() == [names[label] for label in data.examples.labels]


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 40), st.integers(0, 2**20), st.sampled_from(["f2", "f4", "f8"]))
def test_probabilities_sum_to_one_and_lead_to_the_same_class(
    tmp_path_factory: pytest.TempPathFactory, classes: int, seed: int, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("p")
    audit, p, data = make(3 * classes, seed, tuple(f"c{i}" for i in range(classes)))
    p = p.astype(kind)
    write_audit(folder / "out", audit, p, data)
    read = np.load(folder / "out" / "pred_probs.npy")
    assert read.dtype == np.float32
    assert read.shape == p.shape
    assert np.abs(read.sum(1, dtype=np.float64) - 1).max() < 1e-6
    assert read.min() >= 0
    assert read.max() <= 1
    np.testing.assert_allclose(read, p, atol=2e-3 if kind == "f2" else 1e-6)
    np.testing.assert_array_equal(read.max(1), read[np.arange(len(read)), p.argmax(1)])


def test_an_existing_folder_is_refused_and_stays(tmp_path: Path) -> None:
    audit, p, data = make()
    out = tmp_path / "out"
    write_audit(out, audit, p, data)
    before = (out / "pred_probs.npy").read_bytes()
    with pytest.raises(InputError, match="--overwrite"):
        write_audit(out, audit, np.roll(p, 1, 1), data)
    assert (out / "pred_probs.npy").read_bytes() == before
    write_audit(out, audit, np.roll(p, 1, 1), data, overwrite=True)
    assert (out / "pred_probs.npy").read_bytes() != before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_overwriting_spares_what_no_audit_wrote(tmp_path: Path) -> None:
    audit, p, data = make()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years")
    with pytest.raises(InputError, match=r"thesis\.tex"):
        write_audit(tmp_path / "out", audit, p, data, overwrite=True)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "years"
    with pytest.raises(InputError, match="this is a file"):
        write_audit(tmp_path / "out" / "thesis.tex", audit, p, data, overwrite=True)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failure_leaves_what_was_there(tmp_path: Path, overwrite: bool) -> None:
    audit, p, data = make()
    out = tmp_path / "out"
    if overwrite:
        write_audit(out, audit, p, data)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def interrupted() -> None:
        with audit_folder(out, overwrite=overwrite) as temporary:
            (temporary / "label_issues.csv").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(InputError, match="same data"):
        write_audit(out, audit, p[1:], data, overwrite=overwrite)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert len(list(tmp_path.iterdir())) == overwrite


def test_labels_that_are_no_classes_of_the_data(tmp_path: Path) -> None:
    audit, p, data = make()
    audit.table["given_label"] = "dinosaur"
    with pytest.raises(InputError, match="'dinosaur'"):
        write_audit(tmp_path / "out", audit, p, data)
    assert not list(tmp_path.iterdir())


def test_rounding_below_zero_is_no_probability(tmp_path: Path) -> None:
    audit, p, data = make()
    p[0] = [-5e-4, 0.5, 0.5005]
    write_audit(tmp_path / "out", audit, p, data)
    assert np.load(tmp_path / "out" / "pred_probs.npy")[0].min() == 0


def test_the_old_audit_comes_back_where_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit, p, data = make()
    out = tmp_path / "out"
    write_audit(out, audit, p, data)
    before = (out / "pred_probs.npy").read_bytes()
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "new" and target == out:
            raise OSError("disk on fire")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="disk on fire"):
        write_audit(out, audit, np.roll(p, 1, 1), data, overwrite=True)
    assert (out / "pred_probs.npy").read_bytes() == before
    assert list(tmp_path.iterdir()) == [out]
