"""No process that works for a command outlives it, however that ends: here by kill -9."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from processes import PROC, left_after_kill, processes_in

pytestmark = pytest.mark.skipif(not PROC, reason="processes are looked for in /proc")

STREAMING = """
import sys
from pathlib import Path
from noiselimit.engine.stream import PictureStream
from noiselimit.data.pictures import Cut
from noiselimit.data.arrays import View
from noiselimit.data.pictures import PictureFiles

files = PictureFiles(Path.cwd(), ["0.jpg"], Cut(12, 12, 14))
requests = ([(0, View())] for _ in range(1000))
for batch in PictureStream(files, 2).batches(requests):
    print("ready", flush=True)
    sys.stdin.read()
"""
MAIN = "from noiselimit.cli.main import main; main()"


def program(folder: Path, code: str, *arguments: str) -> "subprocess.Popen[str]":
    """A process that leads a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_decoders(tmp_path: Path) -> None:
    Image.new("RGB", (24, 18)).save(tmp_path / "0.jpg")
    with program(tmp_path, STREAMING) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        assert len(processes_in(process.pid)) >= 3  # itself, the fork server and a worker
        assert left_after_kill(process) == []
        assert process.stderr.read() == ""
