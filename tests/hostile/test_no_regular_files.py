"""Pipes and devices under the names of files: nobody waits for the one or reads the other to its end."""

import ast
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import noiselimit
from noiselimit.cli.main import run
from noiselimit.data.examples import DataSet

PACKAGE = Path(noiselimit.__file__).parent
OWN = {
    "files.py",  # what was written a moment ago
    "report/pages.py",  # what comes with the package
    "report/svg.py",
    "training.py",  # /proc/cpuinfo
}
OTHERS = sorted(path for path in PACKAGE.rglob("*.py") if str(path.relative_to(PACKAGE)) not in OWN)


@pytest.fixture(autouse=True)
def _somebody_waits_in_vain() -> Iterator[None]:
    def give_up(*_: object) -> None:
        pytest.fail("it waits for ever")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def trained(blobs: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = noiselimit.RunSpec("ce", epochs=4, network="linear")
    run = noiselimit.train(spec, blobs, out=tmp_path_factory.mktemp("runs"), averaged=True)[0]
    assert run.path is not None
    return run.path


def replace(path: Path, by: str) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path) if by == "pipe" else path.symlink_to("/dev/zero")


@pytest.mark.parametrize("by", ["pipe", "endless"])
@pytest.mark.parametrize(
    "name",
    ["spec.json", "data.json", "history.jsonl", "metrics.json", "weights.safetensors", "outputs.parquet"],
)
def test_in_a_run_folder(
    trained: Path, tmp_path: Path, name: str, by: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    replace(folder / name, by)
    assert run(["show", str(folder)]) == 2
    assert f"{name} cannot be read: it is missing, damaged or altered" in capsys.readouterr().err


@pytest.mark.parametrize("by", ["pipe", "endless"])
def test_averages_of_a_run(trained: Path, tmp_path: Path, by: str) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    replace(folder / "averaged.safetensors", by)
    with pytest.raises(noiselimit.InputError, match=r"averaged\.safetensors cannot be read"):
        _ = noiselimit.load_run(folder).averaged


@pytest.mark.parametrize("by", ["pipe", "endless"])
@pytest.mark.parametrize(
    ("name", "command"),
    [
        (".command.json", "train --resume ."),
        ("c.toml", "train --config c.toml"),
        ("labels.txt", "noise --data digits --noise given:labels.txt"),
        ("labels.csv", "noise --data digits --noise given:labels.csv"),
        ("t.npy", "noise --data digits --noise matrix:t.npy"),
        ("t.json", "noise --data digits --noise matrix:t.json"),
        ("t.csv", "noise --data digits --noise matrix:t.csv"),
        ("w.safetensors", "train --data digits --initial-weights w.safetensors"),
        ("a.csv", "train --data a.csv"),
        ("a.parquet", "train --data a.parquet"),
        ("a.npz", "train --data a.npz"),
        ("photos/a/1.png", "train --data photos"),
    ],
)
def test_in_the_place_of_a_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    command: str,
    by: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("a", "b"):
        Path("photos", place).mkdir(parents=True)
        for number in range(3):
            Image.fromarray(np.zeros((8, 8), np.uint8)).save(Path("photos", place, f"{number}.png"))
    replace(Path(name), by)
    assert run(command.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith("noiselimit: ")
    assert err.count("\n") == 1


@pytest.mark.filterwarnings("always::noiselimit.errors.Notice")
@pytest.mark.parametrize("size", [2**38, 2**43])
def test_a_checkpoint_that_is_all_holes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], size: int
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("t.npz", inputs=np.zeros((60, 3)), labels=np.arange(60) % 3)
    checkpoint = Path("out", ".checkpoints", f"epoch-00003-{'0' * 32}.safetensors")
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    os.truncate(checkpoint, size)
    typed = "train --data t.npz --method ce --network linear --epochs 1 --device cpu --quiet --out out"
    assert run(typed.split()) == 0
    err = capsys.readouterr().err
    assert err.startswith(f"noiselimit: {checkpoint} ")
    assert "starts over" in err
    assert err.count("\n") == 1


def opened_otherwise(source: str) -> list[str]:
    """Calls that read a file without asking what it is."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        written = ast.unparse(node)
        name = ast.unparse(node.func).rpartition(".")[2]
        modes = [ast.unparse(each) for each in (*node.args, *(word.value for word in node.keywords))]
        writes = any(mode.strip("'").rstrip("b") in ("w", "x", "a") for mode in modes)
        members = any(
            word in written for word in ("archive.", "members.", "old.", "new.", "tarfile", "Image.")
        )
        if name == "read_text" or (name == "read_bytes" and "." in ast.unparse(node.func)):
            found.append(written)
        if name == "open" and not writes and not members and not written.startswith("os."):
            found.append(written)
        if name in ("fromfile", "load") and "." in ast.unparse(node.func) and modes[:1] == ["path"]:
            found.append(written)
    return found


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_reader_asks_first(path: Path) -> None:
    assert opened_otherwise(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "source", ["path.read_text()", "path.read_bytes()", "path.open('rb')", "open(path)", "np.load(path)"]
)
def test_a_reader_that_does_not_would_be_noticed(source: str) -> None:
    assert opened_otherwise(source)
