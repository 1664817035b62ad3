"""Corrected copies: only what was decided changes, and the source never does."""

import csv
import os
import shutil
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

from noiselimit.audit import fixes
from noiselimit.audit.fixes import list_changes, write_copy
from noiselimit.audit.saved import Origin, SavedAudit, fingerprint
from noiselimit.data.catalogue import load_data
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError

NAMES = ("cat", "dog", "eel")


def audited(
    source: Path,
    labels: Any,
    suggested: Any = None,
    flagged: Any = None,
    *,
    label: str | None = None,
    paths: Any = None,
    names: tuple[str, ...] = NAMES,
) -> SavedAudit:
    """An audit of the source, whose classes have these numbers; it flags some rows and suggests classes."""
    table = pd.DataFrame({"is_label_issue": np.zeros(len(labels), bool) if flagged is None else flagged})
    table = table.astype(bool)
    for column, codes in (
        ("given_label", labels),
        ("predicted_label", labels if suggested is None else suggested),
    ):
        table[column] = pd.Categorical.from_codes(np.asarray(codes), pd.Index(names))
    table["row"] = np.arange(len(table))
    if paths is not None:
        table["path"] = paths
    origin = Origin(str(source), Reading(label=label), str(source), fingerprint=fingerprint(source, paths))
    return SavedAudit(source.parent / "audit", table, np.eye(2), names, {"warning": None}, origin)


def decided(*decisions: tuple[int, str, str | None]) -> pd.DataFrame:
    return pd.DataFrame(decisions, columns=["row", "action", "label"])


def fixed(saved: SavedAudit, target: Path, fix: str, overwrite: bool = False) -> dict[str, int]:
    """Write a copy in which flagged rows are fixed."""
    return write_copy(saved, target, list_changes(saved, decided(), fix), overwrite=overwrite)


def cleaned(rows: int, dropped: int, relabelled: int) -> dict[str, int]:
    return {"rows": rows, "dropped": dropped, "relabelled": relabelled}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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
    saved = audited(source, labels, suggested, flagged, label="the label")
    for fix, wanted, kept in (
        ("relabel", np.where(flagged, suggested, labels), labels >= 0),
        ("drop", labels, ~flagged),
    ):
        done = fixed(saved, target, fix, overwrite=True)
        with target.open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file, delimiter=mark)) == table(wanted, kept)
        assert done == cleaned(int(kept.sum()), int((~kept).sum()), int((wanted != labels).sum()))
    assert source.read_bytes() == before


def test_new_labels_use_the_commonest_spelling(tmp_path: Path) -> None:
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("x,kind,y\n1e0, 01,0.10\n2.50,02,.5\n\n3,01,1E-3\n4,02,7\n5,01,8\n\n")
    fixed(audited(source, [0, 1, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 0, 1, 1], label="kind"), target, "relabel")
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
    saved = audited(source, [0, 1, 0, 1, 0, 2], [0, 2, 0, 1, 1, 2], [0, 1, 0, 0, 1, 0])
    old = pyarrow.parquet.read_table(source)
    fixed(saved, target, "relabel")
    new = pyarrow.parquet.read_table(target)
    assert new.schema.equals(old.schema, check_metadata=True)
    assert pd.read_parquet(target)["label"].tolist() == label.take([0, 5, 2, 3, 1, 5]).tolist()
    assert new.drop_columns("label").equals(old.drop_columns("label"))
    fixed(saved, target, "drop", overwrite=True)
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
    saved = audited(source, labels, [1, 1, 0, 1], [1, 0, 0, 1])
    fixed(saved, target, "drop")
    fixed(saved, tmp_path / "c.npz", "relabel")
    with np.load(target) as dropped, np.load(tmp_path / "c.npz") as relabelled:
        assert dropped.files == relabelled.files == list(arrays)
        for name, array in arrays.items():
            per_example = name in ("X", "y", "labels_other", "id")
            np.testing.assert_array_equal(dropped[name], array[[1, 2]] if per_example else array)
            np.testing.assert_array_equal(relabelled[name], array[[1, 1, 2, 3]] if name == "y" else array)
            assert dropped[name].dtype == relabelled[name].dtype == array.dtype
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target) as new:
        assert {m.compress_type for m in new.infolist()} == {m.compress_type for m in old.infolist()}


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """Class folders with a test part, a note, a hidden file, and equal names in both classes."""
    for name in (
        "train/cat/1.png",
        "train/cat/deep/2, é.png",
        "train/dog/1.png",
        "train/dog/1-2.png",
        "test/cat/9.png",
    ):
        path = tmp_path / "pets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    (tmp_path / "pets" / "README").write_text("pets")
    (tmp_path / "pets" / ".hidden").write_text("x")
    return tmp_path / "pets"


PETS = ["train/cat/1.png", "train/cat/deep/2, é.png", "train/dog/1-2.png", "train/dog/1.png"]


def test_class_folders_become_a_list(pets: Path, tmp_path: Path) -> None:
    saved = audited(pets, [0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 0, 0], paths=PETS)
    for ending, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        target = tmp_path / f"list{ending}"
        assert fixed(saved, target, "relabel") == cleaned(4, 0, 1)
        paths = [f"pets/{name}" for name in PETS]
        assert read(target).to_dict("list") == {"path": paths, "label": ["cat", "dog", "dog", "dog"]}
        assert fixed(saved, target, "drop", overwrite=True) == cleaned(3, 1, 0)
        assert read(target)["path"].tolist() == [paths[0], *paths[2:]]


def test_class_folders_are_copied_with_links(pets: Path, tmp_path: Path, monkeypatch: Any) -> None:
    before = contents(pets)
    saved = audited(pets, [0, 0, 1, 1], paths=PETS)
    changes = list_changes(
        saved, decided((0, "relabel", "dog"), (1, "relabel", "dog"), (2, "drop", None), (3, "keep", None))
    )
    copies = [tmp_path / "linked", tmp_path / "v1.2 copied"]
    (tmp_path / "linked").mkdir()  # an empty folder may be filled
    assert write_copy(saved, copies[0], changes) == cleaned(3, 1, 2)
    monkeypatch.setattr(os, "link", None)
    with pytest.raises(TypeError):
        write_copy(saved, copies[1], changes)
    assert not copies[1].exists()

    def no_links(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(os, "link", no_links)
    write_copy(saved, copies[1], changes)
    killed = tmp_path / ".v1.2 copied.0123abcd.tmp"
    killed.mkdir()  # as kill -9 leaves it; the next call removes it
    copies[1].rename(tmp_path / "other")
    write_copy(saved, copies[1], changes)
    assert contents(copies[1]) == contents(tmp_path / "other")
    shutil.rmtree(tmp_path / "other")
    for copy in copies:
        assert contents(copy) == {
            "train/dog/1.png": b"train/dog/1.png",
            "train/dog/1-2.png": b"train/cat/1.png",
            "train/dog/deep/2, é.png": PETS[1].encode(),
            "test/cat/9.png": b"test/cat/9.png",
            "README": b"pets",
        }
    assert (pets / "README").samefile(copies[0] / "README")
    assert contents(pets) == before
    assert {path.name for path in tmp_path.iterdir()} == {"pets", "linked", "v1.2 copied"}


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    paths = ["cat/1.png", "train/1.png"]
    for name in paths:
        (tmp_path / "pets" / name).parent.mkdir(parents=True)
        (tmp_path / "pets" / name).write_text(name)
    saved = audited(tmp_path / "pets", [0, 1], paths=paths, names=("cat", "train"))
    write_copy(saved, tmp_path / "new", list_changes(saved, decided((1, "relabel", "cat"))))
    assert contents(tmp_path / "new") == {"cat/1.png": b"cat/1.png", "cat/1-2.png": b"train/1.png"}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["../cat/1.png", "train/dog/1.png"], ("cat", "dog")),
        (["/etc/hostname", "train/dog/1.png"], ("cat", "dog")),
        (PETS[:2], ("cat", "../../dog")),
        (PETS[:2], ("cat", "..")),
    ],
)
def test_a_hostile_audit_writes_nothing_outside(pets: Path, tmp_path: Path, paths: Any, names: Any) -> None:
    saved = audited(pets, [0, 0], paths=paths, names=names)
    files = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="outside"):
        write_copy(saved, tmp_path / "new", list_changes(saved, decided((1, "relabel", names[1]))))
    assert sorted(tmp_path.rglob("*")) == files


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_the_copy_of_a_list_of_pictures_finds_them(tmp_path: Path, ending: str) -> None:
    """Also in another folder, without the pictures that were skipped, and with its other columns."""
    for name in ("1.png", "2.png", "3.png"):
        Image.new("L", (4, 4)).save(tmp_path / name)
    paths = ["1.png", str(tmp_path / "2.png"), "gone.png", "3.png"]
    listed = pd.DataFrame({"id": [1, 2, 3, 4], "file": paths, "kind": ["a", "a", "b", "b"]})
    listed.to_csv(tmp_path / "list.tsv", sep="\t", index=False)
    listed.to_csv(tmp_path / "list.csv", index=False)
    listed.to_parquet(tmp_path / "list.parquet")
    source, reading = tmp_path / f"list.{ending}", Reading(label="kind", ignore=("id",), skip_bad_images=True)
    names = load_data(source, reading=reading).examples.names
    saved = audited(source, [0, 0, 1], [0, 1, 1], [0, 1, 0], label="kind", paths=names, names=("a", "b"))
    for place, first in (("new", "../1.png"), (".", "1.png")):
        target = tmp_path / place / f"copy.{ending}"
        fixed(saved, target, "relabel")
        copy = load_data(target, reading=reading).examples
        assert copy.names == [first, paths[1], f"{Path(first).parent / '3.png'}"]
        assert copy.labels.tolist() == [0, 1, 1]
        read = (
            pd.read_parquet(target) if ending == "parquet" else pd.read_csv(target, sep=None, engine="python")
        )
        assert (list(read), read["id"].tolist()) == (["id", "file", "kind"], [1, 2, 4])


def test_errors_leave_nothing_behind(tmp_path: Path, monkeypatch: Any) -> None:
    source = tmp_path / "a.csv"
    content = "x,label\n1,u\n2,v\n3,u\n"
    source.write_text(content)
    os.link(source, tmp_path / "link.csv")
    (tmp_path / "c.csv").write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    good = audited(source, [0, 1, 0], [0, 1, 1], [0, 0, 1])
    files = sorted(tmp_path.iterdir())

    def refused(
        words: str,
        target: str = "b.csv",
        saved: SavedAudit = good,
        fix: str = "drop",
        overwrite: bool = False,
    ):
        with pytest.raises(InputError, match=words):
            fixed(saved, tmp_path / target, fix, overwrite)
        assert sorted(tmp_path.iterdir()) == files
        assert source.read_text() == content

    refused("source", "a.csv", overwrite=True)
    refused("source", "link.csv", overwrite=True)
    refused(r"must end in \.csv", "b.parquet")
    refused("folder", "folder.csv", overwrite=True)
    refused("inside", "audit/b.csv")
    refused("audit it again", saved=audited(source, [0, 1], [0, 1], [0, 1]))
    refused("audit it again", saved=audited(source, [0, 1, 1], [0, 1, 1], [0, 1, 0]))
    refused("drop", saved=audited(source, [0, 1, 0], [0, 1, 2], [0, 0, 1]), fix="relabel")
    refused("--overwrite", "c.csv")
    refused("unknown fix", fix="guess")

    def interrupted(*_: object) -> None:
        Path(str(_[1])).write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setitem(fixes.WRITERS, ".csv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fixed(good, tmp_path / "c.csv", "drop", overwrite=True)
    assert sorted(tmp_path.iterdir()) == files
    assert (tmp_path / "c.csv").read_text() == "mine"


def test_folders_are_refused_or_left_as_they_were(pets: Path, tmp_path: Path) -> None:
    saved = audited(pets, [0, 0, 1, 1], paths=PETS)
    for target, words in (
        (pets / "new", "outside"),
        (tmp_path, "outside"),
        (tmp_path / "new.npz", "new folder"),
        (tmp_path / "full", "new folder"),
    ):
        (tmp_path / "full").mkdir(exist_ok=True)
        (tmp_path / "full" / "thesis").write_text("years")
        with pytest.raises(InputError, match=words):
            fixed(saved, target, "drop", overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == {"pets", "full"}


def test_rows_without_a_label_stay_or_get_one(tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pd.DataFrame({"x": [1, 2, 3, 4], "label": ["u", None, "v", "u"]}).to_parquet(source)
    saved = audited(source, [0, -1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1], names=("u", "v"))
    fixed(saved, target, "relabel")
    assert pyarrow.parquet.read_table(target)["label"].to_pylist() == ["u", None, "v", "v"]
    write_copy(saved, target, list_changes(saved, decided((1, "relabel", "v"))), overwrite=True)
    assert pyarrow.parquet.read_table(target)["label"].to_pylist() == ["u", "v", "v", "u"]
    write_copy(saved, target, list_changes(saved, decided((1, "drop", None))), overwrite=True)
    assert pyarrow.parquet.read_table(target)["label"].to_pylist() == ["u", "v", "u"]


def test_decisions_win_over_flags(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("x,label\n" + "1,u\n" * 6)
    saved = audited(source, [0, 0, 0, 0, 1, 2], [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0])
    made = decided(
        (5, "relabel", "dog"),
        (0, "keep", None),
        (1, "unsure", None),
        (2, "drop", None),
        (4, "relabel", "dog"),
    )
    changes = list_changes(saved, made, "relabel")
    assert changes.to_dict("list") == {
        "row": [2, 3, 5],
        "given_label": ["cat", "cat", "eel"],
        "action": ["drop", "relabel", "relabel"],
        "label": [None, "dog", "dog"],
    }
    assert list_changes(saved, made)["row"].tolist() == [2, 5]
    assert list_changes(saved, made.iloc[:0]).empty
    for wrong, words in (
        ((6, "drop", None), "6 rows"),
        ((-1, "keep", None), "rows"),
        ((0, "relabel", "dgo"), "dog"),
    ):
        with pytest.raises(InputError, match=words):
            list_changes(saved, decided(wrong))
