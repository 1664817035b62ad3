"""Batches of pictures from files, decoded a few batches ahead."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from noiselimit.data.arrays import View
from noiselimit.data.pictures import Cut, PictureFiles
from noiselimit.engine.stream import AHEAD, PictureStream
from noiselimit.errors import InputError
from noiselimit.machine import available_cores
from noiselimit.runs.spec import RunSpec
from noiselimit.training import Stopped, train
from tests.engine.streamed_pictures import streamed

WORKERS = min(2, available_cores())
REQUESTS = [
    [(row % 40, View(row % 2 == 1, row / 80, 0.3)) for row in range(start, start + 4)] for start in range(76)
]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> PictureFiles:
    """Forty pictures, 24 × 18, and number 40, which is not a picture."""
    folder = tmp_path_factory.mktemp("stream")
    generator = np.random.default_rng(5)
    for row in range(40):
        pixels = generator.integers(0, 256, size=(18, 24, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{row}.jpg")
    (folder / "40.jpg").write_bytes(b"no picture")
    return PictureFiles(folder, [f"{row}.jpg" for row in range(41)], Cut(12, 12, 14))


def live_workers() -> int:
    return len(multiprocessing.active_children())


@pytest.mark.parametrize("workers", [0, WORKERS])
def test_batches_come_in_order_with_their_views(files, workers):
    before = torch.random.get_rng_state()
    batches = list(PictureStream(files, workers).batches(iter(REQUESTS[:12])))
    assert len(batches) == 12
    for request, batch in zip(REQUESTS, batches, strict=False):
        assert batch.dtype == torch.uint8
        assert np.array_equal(batch, np.stack([files.read(row, view) for row, view in request]))
    assert torch.equal(before, torch.random.get_rng_state())  # the global generator is not used
    assert live_workers() == 0


def test_reading_ahead_is_limited(files):
    for workers in (0, WORKERS):
        taken = 0

        def requests():
            nonlocal taken
            for request in REQUESTS:
                taken += 1
                yield request

        for received, _ in enumerate(PictureStream(files, workers).batches(requests()), 1):
            assert taken <= received + workers * AHEAD
        assert taken == received == len(REQUESTS)


@pytest.mark.parametrize("workers", [0, WORKERS])
def test_a_bad_picture_is_an_input_error(files, workers):
    requests = [REQUESTS[0], [(0, View()), (40, View())], REQUESTS[1]]
    batches = PictureStream(files, workers).batches(requests)
    next(batches)
    with pytest.raises(InputError, match=r"40\.jpg") as caught:
        next(batches)
    assert caught.value.__traceback__ is not None  # which must not keep the workers alive
    assert live_workers() == 0


def test_stopping_a_training_ends_the_workers(tiny_images, monkeypatch):
    monkeypatch.setattr("noiselimit.engine.block.SHORT_EPOCH", 0.0)
    workers = []

    def stop():
        workers.append(live_workers())
        return len(workers) == 4  # in the midst of the first epoch

    with pytest.raises(Stopped) as caught:
        train(RunSpec("ce", batch_size=8), streamed(tiny_images), threads=1, stop=stop)
    assert caught.value.__traceback__ is not None  # which must not keep the workers alive
    assert workers[-1] > 0 == live_workers()


def test_a_worker_that_dies_is_an_input_error(files):
    batches = PictureStream(files, 1).batches(iter(REQUESTS))
    next(batches)
    for child in multiprocessing.active_children():
        os.kill(child.pid or 0, 9)
    with pytest.raises(InputError, match="smaller batches"):
        list(batches)


SCRIPT = """
import sys
from pathlib import Path
from noiselimit.engine.stream import PictureStream
from noiselimit.data.pictures import Cut
from noiselimit.data.arrays import View
from noiselimit.data.pictures import PictureFiles

print("ran")
files = PictureFiles(Path(sys.argv[1]), ["0.jpg"], Cut(12, 12, 14))
for batch in PictureStream(files, 1).batches([[(0, View())]]):
    print(tuple(batch.shape))
"""


@pytest.mark.slow
def test_a_script_without_a_guard_runs_once(files, tmp_path):
    script: Path = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-W", "error", str(script), str(files.folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.stdout, ended.stderr) == ("ran\n(1, 3, 12, 12)\n", "")
