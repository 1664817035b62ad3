"""What a reviewer sees of rows, texts and pictures."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from noiselimit.data.catalogue import load_data
from noiselimit.data.examples import DataSet
from noiselimit.data.reading import Reading
from noiselimit.review.looks import LARGE, THUMBNAIL, Looks, Neighbours


def looks(data: DataSet) -> Looks:
    return Looks(data, lambda number: np.flatnonzero(data.examples.labels == number))


def test_telling_columns_come_first(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    labels = np.arange(80) % 2
    frame = pd.DataFrame(
        {
            "noise": generator.normal(size=80),
            "colour": np.array(["red", "blue"])[labels],
            "size": 10.0 * labels + generator.normal(size=80).round(2),
            "label": np.array(["cat", "dog"])[labels],
        }
    )
    frame.loc[3, "label"] = "cat"  # a dog by all columns
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = looks(load_data(str(tmp_path / "t.csv"), reading=Reading()))
    assert found.kind == "row"
    columns = found.columns(3, 0, 1)
    assert [(column["name"], column["telling"]) for column in columns] == [
        ("colour", True),
        ("size", True),
        ("noise", False),
    ]
    assert (columns[0]["value"], columns[0]["given"], columns[0]["other"]) == ("blue", "red", "blue")
    assert float(columns[1]["given"]) < 2 < 8 < float(columns[1]["other"])
    assert found.preview(3).startswith("noise ")
    assert found.columns(3, -1, 1)[0]["given"] == ""  # a row without a label


def test_whole_texts(tmp_path: Path) -> None:
    texts = [
        f"A sentence about {'cats' if row % 2 else 'dogs'}, number {row}.\nAnd more." for row in range(60)
    ]
    pd.DataFrame({"text": texts, "label": np.arange(60) % 2}).to_csv(tmp_path / "t.csv", index=False)
    found = looks(load_data(str(tmp_path / "t.csv"), reading=Reading(features="tf-idf")))
    assert found.kind == "text"
    assert found.texts(5) == [{"name": "text", "text": texts[5]}]
    assert found.preview(5) == texts[5].replace("\n", " ")


def test_picture_files_are_shown_whole(tmp_path: Path) -> None:
    for number in range(6):
        folder = tmp_path / "photos" / "ab"[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 255, (60, 90, 3), np.uint8)
        Image.fromarray(pixels).resize((1500, 1000)).save(folder / f"{number}.jpg")
    data = load_data(str(tmp_path / "photos"), reading=Reading(resize=32))
    found = Looks(data, lambda number: np.zeros(0, np.int64), tmp_path / "photos")
    for content, kind, side in ((*found.large(0), LARGE), (*found.thumbnail(0), THUMBNAIL)):
        image = Image.open(io.BytesIO(content))
        assert max(image.size) == side
        assert image.size[0] / image.size[1] == pytest.approx(1.5, abs=0.02)
        assert kind == "image/jpeg"
    assert not found.tiny


def test_neighbours() -> None:
    features = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    near = Neighbours(lambda: features)
    assert near.wait(10)
    distance = np.linalg.norm(features - features[7], axis=1)
    assert near.nearest(7, 5) == tuple(np.argsort(distance)[1:6])

    def fail() -> np.ndarray:
        raise ValueError("no features here")

    near = Neighbours(fail)
    assert near.wait(10)
    assert near.nearest(7, 5) == ()
    assert near.problem == "no features here"
