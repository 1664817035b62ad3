"""The command line called in this process, on a data file and runs that are made in a moment."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from noiselimit.cli.main import run
from noiselimit.data.examples import DataSet

Write = Callable[..., Path]


@dataclass(frozen=True)
class Answer:
    """What a command line ended with."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a folder of its own and no data folder, as on a fresh machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOISELIMIT_DATA", raising=False)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # which would hide what happens when buffers end


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run one command line and catch what it says."""

    def call(*arguments: object) -> Answer:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Answer(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def program() -> tuple[str, ...]:
    """How to start the command as a process of its own."""
    return (sys.executable, "-m", "noiselimit")


@pytest.fixture(scope="session")
def write_table(blobs: DataSet) -> Write:
    """Write 60 good feature vectors of three classes as an .npz, some arrays replaced or left out (None)."""

    def write(path: Path, **changes: object) -> Path:
        arrays = {"inputs": blobs.examples.inputs[:60].copy(), "labels": blobs.examples.labels[:60].copy()}
        kept = {name: value for name, value in {**arrays, **changes}.items() if value is not None}
        np.savez(path, **kept)
        return path

    return write


@pytest.fixture
def table(tmp_path: Path, write_table: Write) -> Path:
    """A good data file."""
    return write_table(tmp_path / "table.npz")


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, write_table: Write) -> Path:
    """A folder of three runs, made once; tests that change something take `runs`."""
    folder = tmp_path_factory.mktemp("trained")
    data = write_table(folder / "table.npz")
    grid = ["--method", "ce,limit-l", "--beta", "1,10", "--noise", "uniform:0.4", "--epochs", "2"]
    assert run(["train", "--data", str(data), *grid, "--out", str(folder / "runs"), "--quiet"]) == 0
    return folder / "runs"


@pytest.fixture
def runs(trained: Path, tmp_path: Path) -> Path:
    """A copy of the three runs."""
    return Path(shutil.copytree(trained, tmp_path / "runs"))


@pytest.fixture
def one_run(runs: Path) -> Path:
    """The run folder of LIMIT-L with β = 10."""
    return next(runs.glob("limit-l-beta10-*"))
