"""Too little memory, and helper processes that must end with the process that started them."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from PIL import Image

from tests.faults.commands import ENVIRONMENT


def start(code: str, *arguments: str, folder: Path | None = None) -> "subprocess.Popen[str]":
    """A Python program in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


LITTLE_MEMORY = """
import resource
import numpy as np
from noiselimit import grid, train

inputs, labels = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32), np.arange(60) % 3
how = {"epochs": 1, "batch_size": 16, "network": "mlp-4x512", "method": "ce"}
train(grid(seed=99, **how), (inputs, labels), threads=1, device="cpu")  # what libraries allocate once
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
limit = used + 400_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(len(train(grid(seed=list(range(32)), **how), (inputs, labels), threads=1, device="cpu")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
def test_a_cohort_too_large_for_memory_is_split() -> None:
    with start(LITTLE_MEMORY) as process:
        out, err = process.communicate(timeout=600)
    assert (process.returncode, out) == (0, "32\n"), err
    assert "Notice" in err
    assert "memory" in err


DECODING = """
import sys
from pathlib import Path
from noiselimit.data.arrays import View
from noiselimit.data.pictures import Cut, PictureFiles
from noiselimit.engine.stream import PictureStream

files = PictureFiles(Path.cwd(), ["0.jpg"], Cut(12, 12, 14))
for batch in PictureStream(files, 2).batches(([(0, View())] for _ in range(1000))):
    print("ready", flush=True)
    sys.stdin.read()
"""


def processes_in(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, _, own, *_ = (place / "stat").read_text().rpartition(") ")[2].split()
            if int(own) == session and state not in "ZX":
                found.append(int(place.name))
    return found


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="processes are listed in /proc")
def test_decoders_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    Image.new("RGB", (24, 18)).save(tmp_path / "0.jpg")
    with start(DECODING, folder=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        assert len(processes_in(process.pid)) >= 3  # itself, the fork server and a worker
        process.kill()
        process.wait()
        deadline = time.monotonic() + 30
        while processes_in(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert processes_in(process.pid) == []
        assert process.stderr.read() == ""
