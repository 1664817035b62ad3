"""Processes end: on signals that Python does not see, with too little memory, and with their helpers."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from commands import ENVIRONMENT
from PIL import Image

BUSY = """
import sqlite3, threading, time
from noiselimit.cli.signals import Ending

ending = Ending()
ending.begin("show runs")
ending.listen()
endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
threading.Thread(target=lambda: (time.sleep(0.5), print("ready", flush=True)), daemon=True).start()
sqlite3.connect(":memory:").execute(endless)  # one call, in which no Python runs in this thread
"""


def start(code: str, *arguments: str, folder: Path | None = None) -> "subprocess.Popen[str]":
    """A Python program in a session of its own, which hears Ctrl-C."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_call_that_never_returns(number: signal.Signals, code: int) -> None:
    with start(BUSY) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert err.splitlines()[-1] == "noiselimit show runs"


def test_ctrl_c_while_modules_are_imported() -> None:
    code = (
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'noiselimit.cli.main':\n"
        "            print('ready', flush=True); time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from noiselimit.__main__ import main; main()"
    )
    with start(code) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err


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


def test_running_out_of_memory_elsewhere_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from noiselimit.cli.main import run

    def large(*arguments: object) -> None:
        raise MemoryError("Unable to allocate 4.00 TiB for an array")

    monkeypatch.setattr("noiselimit.data.catalogue.load_data", large)
    assert run(["train", "--data", "digits"]) == 2
    assert "4.00 TiB" in capsys.readouterr().err


DECODING = """
import sys
from pathlib import Path
from noiselimit.data.lazy import View
from noiselimit.data.pictures import Cut, Paths, PictureFiles
from noiselimit.engine.stream import PictureStream

files = PictureFiles(Path.cwd(), Paths(["0.jpg"]), Cut(12, 12, 14))
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
