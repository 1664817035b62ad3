"""Cleaned copies: only flagged rows change, and the source never does."""

import csv
import os
import string
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image

from noiselimit.audit.fixes import write_cleaned
from noiselimit.audit.issues import Audit, FlagRule, audit_probabilities
from noiselimit.data.catalogue import load_data
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError

DATA = DataSet("any", make_examples(np.zeros((2, 2)), [0, 1]))


def flagging(labels: Any, suggested: Any, flagged: Any, classes: int | None = None) -> Audit:
    """An audit that flags these rows and suggests these labels."""
    labels, suggested, flagged = np.asarray(labels), np.asarray(suggested), np.asarray(flagged, bool)
    p = np.eye(classes or int(max(labels.max(), suggested.max())) + 1)[np.where(flagged, suggested, labels)]
    audit = audit_probabilities(labels, p, FlagRule(budget=0))
    audit.table["is_label_issue"] = flagged
    return audit


def cleaned(rows: int, dropped: int, relabelled: int) -> dict[str, int]:
    return {"rows": rows, "dropped": dropped, "relabelled": relabelled}


cell = st.text(alphabet=string.ascii_letters + string.digits + ' ,;"\n.é', max_size=6)
rows = st.lists(
    st.tuples(cell, st.integers(0, 2), st.integers(0, 2), st.booleans(), cell), min_size=3, max_size=12
)


@settings(max_examples=40, deadline=None)
@given(rows, st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_csv_keeps_all_other_cells(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, int, int, bool, str]],
    mark: str,
    end: str,
    bom: bool,
) -> None:
    labels, suggested, flagged = (np.array([row[i] for row in rows]) for i in (1, 2, 3))
    assume(set(labels) == {0, 1, 2})
    names = ["cat", 'a, "b"\n;c', "d"]
    header = ["", "the label", "y", "x"]
    folder = tmp_path_factory.mktemp("csv")
    source, target = folder / "a.csv", folder / "b.csv"

    def table(wanted: Any, kept: Any) -> list[list[str]]:
        body = [[row[0], names[w], row[4], "0.10"] for row, w, k in zip(rows, wanted, kept, strict=True) if k]
        return [header, *body]

    with source.open("w", encoding="utf-8-sig" if bom else "utf-8", newline="") as file:
        csv.writer(file, delimiter=mark, lineterminator=end).writerows(table(labels, labels >= 0))
    before = source.read_bytes()
    audit = flagging(labels, suggested, flagged, 3)
    for fix, wanted, kept in (
        ("relabel", np.where(flagged, suggested, labels), labels >= 0),
        ("drop", labels, ~flagged),
    ):
        done = write_cleaned(source, target, audit, fix, data=DATA, label="the label", overwrite=True)  # type: ignore[arg-type]
        with target.open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file, delimiter=mark)) == table(wanted, kept)
        assert done == cleaned(int(kept.sum()), int((~kept).sum()), int((wanted != labels).sum()))
    assert source.read_bytes() == before


def test_new_labels_use_the_commonest_spelling(tmp_path: Path) -> None:
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("x,kind,y\n1e0, 01,0.10\n2.50,02,.5\n\n3,01,1E-3\n4,02,7\n5,01,8\n\n")
    data = load_data(source, reading=Reading(label="kind"))
    audit = flagging(data.examples.labels, [0, 1, 0, 0, 1], [0, 0, 0, 1, 1])
    write_cleaned(source, target, audit, "relabel", data=data, label="kind")
    assert target.read_text() == "x,kind,y\n1e0, 01,0.10\n2.50,02,.5\n3,01,1E-3\n4,01,7\n5,02,8\n"
    assert load_data(target, reading=Reading(label="kind")).examples.labels.tolist() == [0, 1, 0, 0, 1]


@pytest.mark.parametrize(
    "label",
    [
        pd.Series([3, 5, 3, 5, 3, 7], dtype="int8"),
        pd.Series(["a", "b", "a", "b", "a", "c"]),
        pd.Series(["a", "b", "a", "b", "a", "c"], dtype="category"),
        pd.Series([1.0, 2.0, 1.0, 2.0, 1.0, 3.0], dtype="float32"),
    ],
    ids=lambda series: str(series.dtype),
)
def test_parquet_keeps_types(tmp_path: Path, label: "pd.Series[Any]") -> None:
    frame = pd.DataFrame(
        {
            "x": np.float32([0.1, 0.2, np.nan, 4, 5, 6]),
            "label": label,
            "when": pd.date_range("2020", periods=6, unit="ns"),
            "some": pd.array([1, None, 3, 4, 5, 6], dtype="Int16"),
        }
    )
    source, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame), source, row_group_size=2)
    audit = flagging([0, 1, 0, 1, 0, 2], [0, 2, 0, 1, 1, 2], [0, 1, 0, 0, 1, 0])
    old = pyarrow.parquet.read_table(source)
    write_cleaned(source, target, audit, "relabel", data=DATA)
    new = pyarrow.parquet.read_table(target)
    assert new.schema.equals(old.schema, check_metadata=True)
    assert pd.read_parquet(target)["label"].tolist() == label.take([0, 5, 2, 3, 1, 5]).tolist()
    assert new.drop_columns("label").equals(old.drop_columns("label"))
    write_cleaned(source, target, audit, "drop", data=DATA, overwrite=True)
    assert pyarrow.parquet.read_table(target).equals(old.take([0, 2, 3, 5]))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("kind", ["int16", "U"])
def test_npz_shortens_arrays_with_a_row_per_example(tmp_path: Path, save: Any, kind: str) -> None:
    source, target = tmp_path / "a.npz", tmp_path / "b.npz"
    labels = np.array([0, 1, 0, 1])
    given = labels.astype(kind) if kind != "U" else np.array(["cat", "dog"])[labels]
    arrays = {
        "X": np.arange(8, dtype="float32").reshape(4, 2),
        "y": given,
        "labels_other": given[::-1],
        "id": np.array(["a", "b", "c", "d"]),
        "X_test": np.zeros((4, 2), "float32"),
        "y_test": given,
        "note": np.array(3),
        "class_names": np.array(["cat", "dog"]),
    }
    save(source, **arrays)
    audit = flagging(labels, [1, 1, 0, 1], [1, 0, 0, 1])
    write_cleaned(source, target, audit, "drop", data=load_data(source))
    write_cleaned(source, tmp_path / "c.npz", audit, "relabel", data=load_data(source))
    with np.load(target) as dropped, np.load(tmp_path / "c.npz") as relabelled:
        assert dropped.files == relabelled.files == list(arrays)
        for name, array in arrays.items():
            per_example = name in ("X", "y", "labels_other", "id")
            np.testing.assert_array_equal(dropped[name], array[[1, 2]] if per_example else array)
            np.testing.assert_array_equal(relabelled[name], array[[1, 1, 2, 3]] if name == "y" else array)
            assert dropped[name].dtype == relabelled[name].dtype == array.dtype
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target) as new:
        assert {m.compress_type for m in new.infolist()} == {m.compress_type for m in old.infolist()}


def test_class_folders_become_a_list(tmp_path: Path) -> None:
    folder, target = tmp_path / "pets", tmp_path / "list.csv"
    folder.mkdir()
    names = ["cat/1.png", "cat/2, é.png", "dog/1.png"]
    examples = make_examples(np.zeros((3, 2)), [0, 0, 1], class_names=["cat", "dog"], names=names)
    data = DataSet("pets", examples)
    audit = flagging([0, 0, 1], [0, 1, 1], [0, 1, 0])
    assert write_cleaned(folder, target, audit, "relabel", data=data) == cleaned(3, 0, 1)
    paths = [f"pets/{name}" for name in names]
    assert pd.read_csv(target).to_dict("list") == {"path": paths, "label": ["cat", "dog", "dog"]}
    assert write_cleaned(folder, target, audit, "drop", data=data, overwrite=True) == cleaned(2, 1, 0)
    assert pd.read_csv(target)["path"].tolist() == [paths[0], paths[2]]
    with pytest.raises(InputError, match="outside"):
        write_cleaned(folder, folder / "list.csv", audit, data=data)
    with pytest.raises(InputError, match="--write"):
        write_cleaned(folder, target, audit, data=DATA, overwrite=True)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_the_copy_of_a_list_of_pictures_finds_them(tmp_path: Path, ending: str) -> None:
    """Also in another folder, and without the pictures that were skipped."""
    for name in ("1.png", "2.png", "3.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("L", (4, 4)).save(tmp_path / name)
    paths = ["1.png", str(tmp_path / "2.png"), "gone.png", "3.png"]
    list_of = pd.DataFrame({"file": paths, "kind": ["a", "a", "b", "b"]})
    list_of.to_csv(tmp_path / "list.tsv", sep="\t", index=False)
    list_of.to_csv(tmp_path / "list.csv", index=False)
    list_of.to_parquet(tmp_path / "list.parquet")
    reading = Reading(label="kind", skip_bad_images=True)
    data = load_data(tmp_path / f"list.{ending}", reading=reading)
    audit = flagging([0, 0, 1], [0, 1, 1], [0, 1, 0])
    for place, first in (("new", "../1.png"), (".", "1.png")):
        target = tmp_path / place / f"copy.{ending}"
        write_cleaned(tmp_path / f"list.{ending}", target, audit, "relabel", data=data, label="kind")
        copy = load_data(target, reading=Reading(label="kind")).examples
        assert copy.names == [first, paths[1], f"{Path(first).parent / '3.png'}"]
        assert copy.labels.tolist() == [0, 1, 1]


def test_errors_leave_nothing_behind(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    content = "x,label\n1,u\n2,v\n3,u\n"
    source.write_text(content)
    os.link(source, tmp_path / "link.csv")
    (tmp_path / "c.csv").write_text("mine")
    audit = flagging([0, 1, 0], [0, 1, 1], [0, 0, 1])
    files = sorted(tmp_path.iterdir())

    def refused(words: str, target: str = "b.csv", audit: Audit = audit, fix: Any = "drop", **more: Any):
        with pytest.raises(InputError, match=words):
            write_cleaned(source, tmp_path / target, audit, fix, data=DATA, **more)
        assert sorted(tmp_path.iterdir()) == files
        assert source.read_text() == content

    refused("source", "a.csv", overwrite=True)
    refused("source", "link.csv", overwrite=True)
    refused(r"must end in \.csv", "b.parquet")
    refused("audit it again", audit=flagging([0, 1], [0, 1], [0, 1]))
    refused("audit it again", audit=flagging([0, 1, 1], [0, 1, 1], [0, 1, 0]))
    refused("--fix drop", audit=flagging([0, 1, 0], [0, 1, 2], [0, 0, 1]), fix="relabel")
    refused("--overwrite", "c.csv")


def test_rows_without_a_label_stay(tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pd.DataFrame({"x": [1, 2, 3, 4], "label": ["u", None, "v", "u"]}).to_parquet(source)
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]])
    audit = audit_probabilities([0, None, 1, 0], p, FlagRule(budget=1))
    write_cleaned(source, target, audit, "relabel", data=DATA)
    assert pyarrow.parquet.read_table(target)["label"].to_pylist() == ["u", None, "v", "v"]
