"""Files whose names are not UTF-8, as older systems wrote them: they work, for reading and for writing."""

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from noiselimit import load_run
from noiselimit.cli.main import run as command
from noiselimit.cli.train import FILE
from noiselimit.networks.pretrained import read_weights_file
from noiselimit.noise import as_noise

LATIN = os.fsdecode(b"caf\xe9")
ROWS = 60
QUICK = ["--epochs", "2", "--network", "linear", "--device", "cpu", "--quiet"]
TRAIN = ["train", *QUICK, "--method", "ce", "--checkpoints", "0"]
AUDIT = ["audit", *QUICK, "--fast", "--budget", "3"]


def run(arguments: list[str]) -> int:
    """What is said can hold any name; that of a process has ? for letters that cannot be written."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return command(arguments)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder, with the same table in café.csv, café.parquet and t.csv, has such a name too."""
    folder = tmp_path / LATIN
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("names are UTF-8 here")
    monkeypatch.chdir(folder)
    generator = np.random.default_rng(0)
    labels = np.arange(ROWS) % 3
    table = pd.DataFrame(
        {"x": labels + generator.normal(size=ROWS) / 9, "label": np.array(["a", "b", "c"])[labels]}
    )
    for name in (LATIN, "t"):
        table.to_csv(f"{name}.csv", index=False)
    with open(f"{LATIN}.parquet", "wb") as file:
        table.to_parquet(file, index=False)


def test_a_training() -> None:
    assert run([*TRAIN, "--data", "t.csv", "--out", LATIN]) == 0
    (folder,) = Path(LATIN).glob("ce-*")
    assert len(load_run(folder).outputs) == ROWS
    assert load_run(folder).weights.classifier
    assert run(["export", str(folder), "--out", f"{LATIN}.safetensors"]) == 0
    assert read_weights_file(f"{LATIN}.safetensors").name == "caf?.safetensors"
    for ending in (".csv", ".parquet"):
        out = Path(f"{LATIN}-predicted{ending}")
        assert run(["predict", str(folder), f"{LATIN}{ending}", "--out", str(out)]) == 0
        with out.open("rb") as file:
            assert len(pd.read_csv(file) if ending == ".csv" else pd.read_parquet(file)) == ROWS


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_data_of_such_a_name(ending: str) -> None:
    assert run([*TRAIN, "--data", f"{LATIN}{ending}", "--out", "runs"]) == 0
    (folder,) = Path("runs").glob("ce-*")
    assert load_run(folder).data.name == "caf?"
    assert "caf?" in Path("runs", "report.html").read_text("utf-8")


def test_labels_of_such_a_name() -> None:
    Path(f"{LATIN}.txt").write_text("".join(f"{row % 3}\n" for row in range(ROWS)))
    assert run([*TRAIN, "--data", "t.csv", "--noise", f"given:{LATIN}.txt", "--out", "runs"]) == 0
    (folder,) = Path("runs").glob("ce-*")
    assert load_run(folder).spec.noise == as_noise(f"given:{LATIN}.txt")


@pytest.mark.filterwarnings("always::noiselimit.errors.Notice")
def test_an_interrupted_training_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("noiselimit.runs.folder._write_contents", stop)
        assert run([*TRAIN, "--data", f"{LATIN}.csv", "--out", LATIN]) == 130
    assert json.loads(Path(LATIN, FILE).read_text("utf-8"))["folder"] == str(Path.cwd())
    assert any(Path(LATIN, ".checkpoints").iterdir())
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        assert command(["train", "--resume", LATIN, "--quiet"]) == 0
    assert "1 of 1 runs go on from epoch 1" in said.getvalue()
    assert not Path(LATIN, FILE).exists()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_audit(ending: str) -> None:
    copy = Path(f"{LATIN}-clean{ending}")
    assert run([*AUDIT, f"{LATIN}{ending}", "--out", f"out-{LATIN}", "--write", str(copy)]) == 0
    with Path(f"out-{LATIN}", "label_issues.parquet").open("rb") as file:
        assert len(pd.read_parquet(file)) == ROWS
    with copy.open("rb") as file:
        assert len(pd.read_csv(file) if ending == ".csv" else pd.read_parquet(file)) == ROWS - 3


def test_an_audit_of_pictures() -> None:
    generator = np.random.default_rng(0)
    for number in range(20):
        folder = Path(f"photos-{LATIN}", "ab"[number % 2])
        folder.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 255, (8, 8)).astype(np.uint8)
        with (folder / f"{number}-{LATIN}.png").open("wb") as file:
            Image.fromarray(pixels).save(file, "png")
    assert run([*AUDIT, f"photos-{LATIN}"]) == 0
    assert len(pd.read_csv(f"audit-photos-{LATIN}/label_issues.csv")) == 20
