"""Tables of many Parquet files: the same in memory and streamed, and what is wrong with a file is said."""

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from noiselimit import InputError
from noiselimit.data import shards
from noiselimit.data.arrays import Rows
from noiselimit.data.catalogue import load_data, load_unlabelled
from noiselimit.data.examples import take_examples
from noiselimit.data.reading import Reading
from noiselimit.data.tables import Table

STREAMED = Reading(label="y", stream="on", keep_unlabelled=True)


def write_shards(folder: Path, rows: int = 60, files: int = 3, **columns: Any) -> pd.DataFrame:
    """Files with numbers, names, dates and identifiers; returns all rows."""
    generator, count = np.random.default_rng(0), rows * files
    labels = generator.integers(0, 3, count)
    frame = pd.DataFrame({"x": generator.normal(size=count) + 3 * labels, "n": np.arange(count) % 7})
    frame["city"] = np.array(["Ulm", "Bonn", None], object)[labels]
    frame["key"] = [generator.bytes(6).hex() for _ in range(count)]
    frame["y"] = np.array(["a", "b", "c"], object)[labels]
    frame = frame.assign(**columns)
    folder.mkdir(exist_ok=True)
    for number in range(files):
        part = frame.iloc[number * rows : (number + 1) * rows]
        part.to_parquet(folder / f"part-{number}.parquet", index=False, row_group_size=25)
    return frame


def test_streamed_data_are_the_data_in_memory(tmp_path: Path) -> None:
    frame = write_shards(tmp_path / "data", w=1.0)
    frame.to_parquet(tmp_path / "whole [1].parquet", index=False)
    reading = Reading(label="y", weight="w", stream="on", cache=tmp_path / "cache")
    whole = load_data(tmp_path / "whole [1].parquet", reading=Reading(label="y", weight="w"))
    for place in ("data", "data/part-*.parquet", "whole [1].parquet"):
        found = load_data(tmp_path / place, reading=reading)
        inputs = found.examples.inputs
        assert isinstance(inputs, Rows)
        assert np.array_equal(inputs[:], whole.examples.inputs)
        assert np.array_equal(inputs[[170, 3]], whole.examples.inputs[[170, 3]])
        assert np.array_equal(take_examples(found.examples, np.array([9, 4])).inputs[:], inputs[[9, 4]])
        assert found.table == whole.table
        assert found.examples.class_names == whole.examples.class_names
        assert np.array_equal(found.examples.labels, whole.examples.labels)
        assert found.examples.kept["id_key"][130] == frame["key"][130]
        assert [rows for _, rows in found.shards] == ([180] if place.startswith("whole") else [60, 60, 60])
    in_memory = load_data(tmp_path / "data", reading=Reading(label="y", weight="w", stream="off"))
    assert np.array_equal(in_memory.examples.inputs, whole.examples.inputs)
    assert in_memory.fingerprint == whole.fingerprint


def test_streams_what_would_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path)
    assert not isinstance(load_data(tmp_path, reading=Reading(label="y")).examples.inputs, Rows)
    monkeypatch.setattr(shards, "available_memory", lambda: 10_000)
    assert isinstance(load_data(tmp_path, reading=Reading(label="y")).examples.inputs, Rows)
    one = load_data(tmp_path / "part-1.parquet", reading=Reading(label="y"))
    assert isinstance(one.examples.inputs, Rows)


def test_the_encoding_is_fitted_to_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later rows may have gaps, names and labels that the sample lacks."""
    rows = np.arange(180)
    cities, labels = np.array(["Ulm", "Bonn"], object)[rows % 2], np.array(["a", "b"], object)[rows % 2]
    cities[7], labels[11], labels[13] = "Kiel", "rare", None
    numbers = np.where(rows == 17, np.nan, np.sqrt(rows))
    write_shards(tmp_path, city=cities, y=labels, number=numbers, key="same")
    monkeypatch.setattr(shards, "SAMPLE", 60)
    found = load_data(tmp_path, reading=STREAMED)
    assert found.examples.class_names == ("a", "b", "rare")
    assert found.examples.labels[[10, 11, 12, 13]].tolist() == [0, 2, 0, -1]
    assert found.table is not None
    names = [column.name for column in found.table.columns for _ in range(column.width)]
    values = found.examples.inputs[:]
    assert values[7][[name == "city" for name in names]].tolist() == [0, 0]
    assert values[17, names.index("number")] == pytest.approx(np.sqrt(rows[::3]).mean())


def test_goes_on_with_the_next_file_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path / "data")
    reading, encoded, encode = Reading(label="y", stream="on", cache=tmp_path / "cache"), [], Table.encode

    def counted(table: Table, frame: pd.DataFrame, source: str = "", **more: Any) -> Any:
        if len(frame) == 60:  # not the sample
            encoded.append(Path(source).name)
            if encoded == ["part-0.parquet", "part-1.parquet"]:
                raise KeyboardInterrupt
        return encode(table, frame, source, **more)

    monkeypatch.setattr(Table, "encode", counted)
    with pytest.raises(KeyboardInterrupt):
        load_data(tmp_path / "data", reading=reading)
    found = load_data(tmp_path / "data", reading=reading)
    assert encoded == ["part-0.parquet", "part-1.parquet", "part-1.parquet", "part-2.parquet"]
    alone = load_data(tmp_path / "data", reading=STREAMED)
    assert np.array_equal(found.examples.inputs[:], alone.examples.inputs[:])


@pytest.mark.parametrize("stream", ["on", "off"])
def test_bad_files_are_named(tmp_path: Path, stream: str) -> None:
    reading = Reading(label="y", stream=stream)

    def message(change: Any) -> str:
        frame = write_shards(tmp_path)
        change(tmp_path / "part-1.parquet", frame.iloc[60:120])
        with pytest.raises(InputError) as caught:
            load_data(tmp_path, reading=reading)
        return str(caught.value)

    def damage(path: Path, frame: pd.DataFrame) -> None:
        content = path.read_bytes()
        path.write_bytes(content[:200] + bytes(len(content) // 3) + content[200 + len(content) // 3 :])

    for change, word in (
        (lambda path, frame: frame.drop(columns="y").to_parquet(path, index=False), "column 'y' is missing"),
        (lambda path, frame: frame.assign(z=1).to_parquet(path, index=False), "column 'z' is there"),
        (lambda path, frame: frame.assign(x="1").to_parquet(path, index=False), "has type text"),
        (lambda path, frame: path.write_bytes(path.read_bytes()[:-20]), "cannot be read"),
        (damage, "cannot be read"),
    ):
        found = message(change)
        assert "part-1.parquet" in found
        assert word in found


def test_a_folder_without_rows(tmp_path: Path) -> None:
    frame = write_shards(tmp_path, files=1)
    frame.iloc[:0].to_parquet(tmp_path / "part-0.parquet", index=False)
    with pytest.raises(InputError, match="no rows"):
        load_data(tmp_path, reading=STREAMED)
    (tmp_path / "part-0.parquet").unlink()
    with pytest.raises(InputError, match="parquet"):
        load_data(tmp_path, reading=STREAMED)


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path / "data")

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="space") as caught:
        load_data(tmp_path / "data", reading=Reading(label="y", stream="on", cache=tmp_path / "cache"))
    assert str(caught.value.filename).endswith("features.npy")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_new_rows_of_many_files_are_those_of_one(tmp_path: Path) -> None:
    frame = write_shards(tmp_path / "data")
    table = load_data(tmp_path / "data", reading=Reading(label="y")).table
    frame.drop(columns="y").to_parquet(tmp_path / "whole.parquet", index=False)
    whole = load_unlabelled(tmp_path / "whole.parquet", table=table, shape=(1,))
    for place in ("data", "data/part-*.parquet"):
        new = load_unlabelled(tmp_path / place, table=table, shape=(1,))
        assert np.array_equal(new.inputs, whole.inputs)
        assert new.kept.keys() == whole.kept.keys()
        assert all(np.array_equal(new.kept[name], whole.kept[name]) for name in whole.kept)
