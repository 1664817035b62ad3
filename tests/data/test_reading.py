"""Options for reading are used or refused, never silently ignored."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from noiselimit.data.catalogue import load_data, load_unlabelled
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError

TABLE: dict[str, Any] = {"label": "label", "clean_label": "label", "weight": "x", "ignore": ["x"]}
PICTURES: dict[str, Any] = {"resize": 4, "skip_bad_images": True}


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_idx_folder: Any) -> Path:
    """A file or folder of every format."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,label\n1,a\n2,b\n3,a\n")
    np.savez(tmp_path / "a.npz", X=np.arange(6.0).reshape(3, 2), y=[0, 1, 0])
    write_idx_folder(tmp_path / "idx")
    for name in ("cat", "dog"):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        Image.new("L", (6, 4)).save(tmp_path / "pictures" / name / "1.png")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ("digits", TABLE | PICTURES),
        ("a.csv", PICTURES),
        ("a.npz", TABLE | PICTURES),
        ("idx", TABLE | PICTURES),
        ("pictures", TABLE),
        ("clothing1m", TABLE),
        ("mnist", TABLE | PICTURES),
    ],
)
def test_options_that_a_format_does_not_use_are_refused(
    sources: Path, source: str, refused: dict[str, Any]
) -> None:
    for name, value in refused.items():
        with pytest.raises(InputError, match=f"^{source}: --{name.replace('_', '-')} "):
            load_data(source, reading=Reading(**{name: value}))


@pytest.mark.parametrize("load", [load_data, load_unlabelled])
@pytest.mark.parametrize("source", ["digits", "a.csv", "a.npz", "idx", "pictures"])
def test_nothing_is_downloaded_for_own_data(sources: Path, load: Any, source: str) -> None:
    with pytest.raises(InputError, match=f"^{source}: .*--download"):
        load(source, download=True)


@pytest.mark.parametrize("name", ["a.csv", "a.npz"])
def test_endings_in_capitals(sources: Path, name: str) -> None:
    before = load_data(name).fingerprint
    (sources / name).rename(sources / name.upper())
    assert load_data(name.upper()).fingerprint == before


def test_columns_to_ignore_are_a_list() -> None:
    assert Reading(ignore=["a", "b"]) == Reading(ignore=("a", "b"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ignore"):
        Reading(ignore="id")  # type: ignore[arg-type]


@pytest.mark.parametrize("resize", [0, -3, 100_000, 2.5, True])
def test_an_impossible_size(resize: Any) -> None:
    with pytest.raises(InputError, match="--resize"):
        Reading(resize=resize)
