"""--resume reads a file that may come from anybody: nothing in it may run code, fetch or write elsewhere."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

from noiselimit.cli.main import app, run
from noiselimit.cli.train import FILE

COMMANDS: dict[str, typer.core.TyperCommand] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OPTIONS = sorted(parameter.name or "" for parameter in COMMANDS["train"].params)
FORMS = ["evilmod.build", "evilmod:build", "evilmod:inner.build", "linear,evilmod.build", " evilmod.build "]


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Here lies a module that leaves a file when it is imported, and some data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "evilmod", raising=False)
    mark = tmp_path / "it-ran"
    Path("evilmod.py").write_text(
        f"open({str(mark)!r}, 'w').close()\n\ndef build(*_):\n    raise SystemExit\n"
    )
    np.savez("t.npz", inputs=np.random.default_rng(1).normal(size=(60, 3)), labels=np.arange(60) % 3)
    Path("runs").mkdir()
    return mark


def remember(**options: object) -> None:
    """As if a training had been interrupted."""
    typed = {"data": "t.npz", "network": "linear", "method": "ce", "epochs": "1", "device": "cpu", **options}
    content = {"format": 1, "folder": str(Path.cwd()), "options": typed}
    Path("runs", FILE).write_text(json.dumps(content))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("option", ["network", "predictor_network", "predictor_features"])
def test_code_is_refused(trap: Path, option: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    remember(**{option: form})
    assert run(["train", "--resume", "runs"]) == 2
    assert capsys.readouterr().err == (
        "noiselimit: the training in runs uses code of somebody's: type the command again.\n"
    )
    assert not trap.exists()


@pytest.mark.parametrize("form", FORMS[:2])
@pytest.mark.parametrize("option", OPTIONS)
def test_no_option_brings_code_in(
    trap: Path, option: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    remember(**{option: form})
    code = run(["train", "--resume", "runs", "--quiet"])
    assert (code, capsys.readouterr().err.count("\n")) == ((0, 0) if option == "data_dir" else (2, 1))
    assert not trap.exists()


def test_code_that_is_typed_is_run(trap: Path) -> None:
    remember()
    assert run(["train", "--resume", "runs", "--network", "evilmod:build"]) == 2
    assert trap.exists()


@pytest.mark.parametrize("option", ["download", "out", "config", "resume", "as_json", "quiet"])
def test_some_options_have_to_be_typed(trap: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Else a folder could make us fetch files, to any place that it names, or write elsewhere."""
    remember(**{option: "elsewhere", "data_dir": str(trap.parent / "elsewhere"), "data": "mnist"})
    assert run(["train", "--resume", "runs"]) == 2
    assert "runs/.command.json cannot be read, or another version wrote it" in capsys.readouterr().err
    assert not (trap.parent / "elsewhere").exists()
