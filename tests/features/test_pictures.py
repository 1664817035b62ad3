"""Pictures become features: each is embedded once, whatever happens in between."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from noiselimit.data.arrays import LazyInputs
from noiselimit.data.catalogue import load_data
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.reading import Reading
from noiselimit.data.table_file import frame_data_set
from noiselimit.dotted import override_factories
from noiselimit.errors import InputError
from noiselimit.features import pictures
from noiselimit.features.embedders import Embedder
from noiselimit.features.pictures import PictureFeatures, embed_pictures
from noiselimit.features.texts import TextFeatures

SIDE = 32


class Counter:
    """Means of the channels, and how many pictures were embedded; fails after `most`."""

    def __init__(self, most: int = 1000) -> None:
        self.count, self.most = 0, most

    def __call__(self, batch: torch.Tensor) -> torch.Tensor:
        self.count += len(batch)
        if self.count > self.most:
            raise InputError("interrupted")
        return batch.float().mean((2, 3))


def embedder(counter: Counter, name: str = "means", side: int = SIDE) -> Embedder:
    made = Embedder(name, counter, (torch.ones(1),), side, torch.device("cpu"))
    counter.count = 0  # two are embedded to learn the dimension
    return made


def random_pictures(count: int, side: int = SIDE, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (count, channels, side, side), np.uint8)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Eight pictures of various sizes in two classes; the last two are equal."""
    generator = np.random.default_rng(2)
    for row in range(8):
        pixels = generator.integers(0, 256, (40 + row % 7, 50, 3), np.uint8)
        place = tmp_path / "photos" / ("cat" if row % 2 else "dog")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{row}.png")
    shutil.copy(tmp_path / "photos/dog/6.png", tmp_path / "photos/dog/7.png")
    return tmp_path / "photos"


def read(folder: Path, **options: Any) -> LazyInputs:
    inputs = load_data(folder, reading=Reading(features_side=SIDE, **options)).examples.inputs
    assert isinstance(inputs, LazyInputs)
    return inputs


@pytest.mark.parametrize("threads", [1, 3])
def test_features_come_in_the_order_of_the_pictures(threads: int) -> None:
    given = random_pictures(70)
    calls: list[tuple[int, int]] = []
    found = embed_pictures(given, embedder(Counter()), threads=threads, progress=lambda *a: calls.append(a))
    np.testing.assert_allclose(found, given.mean((2, 3)), rtol=1e-5)
    assert found.dtype == np.float32
    assert calls[-1] == (70, 70)
    assert torch.get_num_threads() == 1


def test_a_picture_is_embedded_once(photos: Path, tmp_path: Path) -> None:
    counter = Counter()
    first = embed_pictures(read(photos), embedder(counter), tmp_path / "cache")
    assert counter.count == 8  # of nine files, two are equal
    assert isinstance(first.base, np.memmap)  # needs no memory of its own
    np.testing.assert_array_equal(embed_pictures(read(photos), embedder(counter)), first)
    counter.count = 0
    np.testing.assert_array_equal(embed_pictures(read(photos), embedder(counter), tmp_path / "cache"), first)
    assert counter.count == 0
    (photos / "cat/1.png").rename(photos / "cat/z.png")
    Image.new("RGB", (64, 64), "red").save(photos / "dog/0.png")
    counter.count = 0
    changed = embed_pictures(read(photos), embedder(counter), tmp_path / "cache")
    assert counter.count == 1
    np.testing.assert_array_equal(changed[-5 + 1 :], first[-5 + 1 :])  # the dogs after the first


def test_an_interrupted_embedding_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "PART", 16)
    given, counter = random_pictures(100), Counter(most=60)
    with pytest.raises(InputError, match="interrupted"):
        embed_pictures(given, embedder(counter), tmp_path, threads=1)
    counter = Counter()
    found = embed_pictures(given, embedder(counter), tmp_path, threads=1)
    assert counter.count == 100 - 48
    np.testing.assert_allclose(found, given.mean((2, 3)), rtol=1e-5)


def test_sizes_crops_and_models_are_kept_apart(photos: Path, tmp_path: Path) -> None:
    for side, name, resize in ((SIDE, "a", None), (40, "a", None), (SIDE, "b", None), (SIDE, "a", 40)):
        counter = Counter()
        embed_pictures(read(photos, resize=resize), embedder(counter, name, side), tmp_path / "cache")
        assert counter.count == 8
    assert len(list((tmp_path / "cache").iterdir())) == 3


def test_a_damaged_cache_is_named(tmp_path: Path) -> None:
    given = random_pictures(3)
    embed_pictures(given, embedder(Counter()), tmp_path)
    part, manifest = next(tmp_path.glob("*/*.npz")), next(tmp_path.glob("*/manifest.json"))
    content = part.read_bytes()
    part.write_bytes(content[:50])
    with pytest.raises(InputError, match="delete"):
        embed_pictures(given, embedder(Counter()), tmp_path)
    part.write_bytes(content)
    manifest.write_text("{}")
    with pytest.raises(InputError, match="delete"):
        embed_pictures(given, embedder(Counter()), tmp_path)


@pytest.mark.parametrize("kind", ["grey", "alpha", "fractions", "floats", "wide", "large"])
def test_any_kind_of_picture(kind: str) -> None:
    plain = random_pictures(4)
    given: Any = {
        "grey": plain[:, :1],
        "alpha": np.concatenate([plain, plain[:, :1]], axis=1),
        "fractions": plain / np.float32(255),
        "floats": plain.astype(np.float32),
        "wide": np.pad(plain, [(0, 0), (0, 0), (0, 0), (8, 8)]),
        "large": plain.repeat(2, axis=2).repeat(2, axis=3),
    }[kind]
    expected = plain[:, :1].repeat(3, axis=1) if kind == "grey" else plain
    found = embed_pictures(given, embedder(Counter()))
    np.testing.assert_allclose(found, expected.mean((2, 3)), atol=0.5)


def test_pictures_that_cannot_be_used(photos: Path) -> None:
    with pytest.raises(InputError, match="pixel"):
        embed_pictures(random_pictures(3) - np.float32(100), embedder(Counter()))
    inputs = read(photos)
    (photos / "cat/1.png").unlink()
    with pytest.raises(InputError, match=r"1\.png"):
        embed_pictures(inputs, embedder(Counter()))


def data_set(inputs: Any) -> DataSet:
    return DataSet(
        "some", make_examples(inputs, np.arange(len(inputs)) % 2), defaults={"network": "resnet-18"}
    )


def test_auto_uses_features_for_colour_pictures_that_are_not_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    auto = PictureFeatures(side=32)
    data = auto.apply(data_set(random_pictures(4)))
    assert data.examples.inputs.shape == (4, 1280)
    assert data.shown.shape == (4, 3, 32, 32)
    assert dict(data.defaults) == {}
    for inputs in (random_pictures(4, 31), random_pictures(4, 32, 1), random_pictures(4) - 9.0, np.eye(4)):
        same = data_set(inputs)
        assert auto.apply(same) is same
    same = data_set(random_pictures(4))
    for other in (PictureFeatures("none"), PictureFeatures(network="small-cnn")):
        assert other.apply(same) is same
        assert other.side is None
    with pytest.raises(InputError, match="images"):
        PictureFeatures("efficientnet-lite0").apply(data_set(np.eye(4)))
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    assert PictureFeatures().side is None
    assert "pip install" in PictureFeatures().apply(same).notes[-1]


def test_your_own_function_of_text_gets_no_pictures() -> None:
    texts = pd.DataFrame({"text": [f"a text of {n} words" for n in range(20)]})
    function = {"my.module:lengths": lambda given: [[len(text), text.count("1")] for text in given]}
    with override_factories(function):
        data = frame_data_set(texts, ["a", "b"] * 10, text=TextFeatures("my.module:lengths"))
        assert PictureFeatures("my.module:lengths").apply(data) is data
