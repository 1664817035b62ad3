"""Shared by all tests: one torch thread, no time limits, and small data sets that train quickly."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import settings
from PIL import Image

from noiselimit.data.examples import DataSet, make_examples

if not torch.cuda.is_available():
    # Kernels then run in Triton's interpreter, which must be chosen before triton is imported.
    os.environ["TRITON_INTERPRET"] = "1"

# Ray reads these when it is imported: it reports no usage, and listens on loopback only.
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}

# No deadlines: the first call into a part of torch may take a second on a busy machine.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

torch.set_num_threads(1)  # two threads beside a busy process run ten times slower


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name tests by the length of bytes: gzip data contain the time, and workers must agree on names."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def blobs() -> DataSet:
    """Three Gaussian clouds of feature vectors, 151 examples: easy, and no batch size divides them."""
    generator = np.random.default_rng(7)
    labels = np.arange(151) % 3
    centres = np.array([[3, 0, 0, 0, 0], [0, 3, 0, 0, 0], [0, 0, 3, 0, 0]])
    inputs = centres[labels] + generator.normal(size=(151, 5))
    return DataSet("blobs", make_examples(inputs, labels))


@pytest.fixture(scope="session")
def tiny_images() -> DataSet:
    """Two classes of 8 × 8 images, bright above or bright below, 61 examples."""
    generator = np.random.default_rng(3)
    labels = np.arange(61) % 2
    pictures = generator.integers(0, 60, size=(61, 1, 8, 8))
    pictures[labels == 0, :, :4] += 120
    pictures[labels == 1, :, 4:] += 120
    return DataSet("tiny", make_examples(pictures.astype(np.uint8), labels))


@pytest.fixture(scope="session")
def clothing1m_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small copy of Clothing1M's layout: 280 noisily labelled JPEG files and 70 clean ones."""
    folder = tmp_path_factory.mktemp("clothing1m")
    generator = np.random.default_rng(11)
    (folder / "category_names_eng.txt").write_text("".join(f"Garment {number}\n" for number in range(14)))
    labels: dict[str, list[str]] = {"noisy": [], "clean": []}
    for part, count in (("noisy_train", 280), ("clean_train", 14), ("clean_val", 28), ("clean_test", 28)):
        keys = [f"images/{row % 3}/{row % 7}/{part},{row}.jpg" for row in range(count)]
        (folder / f"{part}_key_list.txt").write_text("".join(f"{key}\n" for key in keys))
        labels[part.split("_")[0]] += [f"{key} {row % 14}\n" for row, key in enumerate(keys)]
        for row, key in enumerate(keys):
            (folder / key).parent.mkdir(parents=True, exist_ok=True)
            pixels = generator.integers(0, 80, size=(30, 40, 3)) + 12 * (row % 14)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / key)
    for kind, lines in labels.items():
        (folder / f"{kind}_label_kv.txt").write_text("".join(lines))
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window. With NOISELIMIT_BROWSER=required, as in CI, a missing one is a failure."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if os.environ.get("NOISELIMIT_BROWSER") == "required":
        assert program, "Chromium is not installed"
    elif program is None:
        pytest.skip("Chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()
