"""Every command and every Python example of the README runs."""

import re
import shlex
from pathlib import Path

import pytest

from noiselimit.cli.main import run

README = (Path(__file__).resolve().parents[1] / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """Commands in sh blocks; console blocks need files that the reader has."""
    lines = "".join(blocks("sh")).splitlines()
    return [shlex.split(line) for line in lines if line.startswith(("noiselimit ", "python -m noiselimit "))]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_commands_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands()
    for words in commands():
        arguments = words[words.index("noiselimit") + 1 :]
        short = ["--quiet", "--epochs", "1"] if arguments[0] in ("train", "audit") else []
        assert run([*arguments, *short]) == 0, shlex.join(words)
    assert capsys.readouterr().out


@pytest.mark.slow
def test_python_examples_run() -> None:
    assert blocks("python")
    for source in blocks("python"):
        exec(compile(source, "README.md", "exec"), {"__name__": "__main__"})
