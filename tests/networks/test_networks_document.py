"""docs/networks.md says what the networks are, and its examples run."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import torch

from noiselimit.cli.main import run
from noiselimit.networks import NETWORKS

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "networks.md").read_text("utf-8")


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_the_table_is_right() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| [^|]+ \| ([\d,]+) \| (\d+) × (\d+) × (\d+) \|", TEXT, re.MULTILINE)
    assert {row[0] for row in rows} == set(NETWORKS)
    for name, count, *shape in rows:
        with torch.device("meta"):
            module = NETWORKS[name].build(tuple(map(int, shape)), 10)
        assert sum(parameter.numel() for parameter in module.parameters()) == int(count.replace(",", "")), (
            name
        )


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example's file in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mynetworks", raising=False)
    (source,) = fenced("python")
    Path(source.splitlines()[0].removeprefix("# ")).write_text(source, "utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("written")
def test_the_commands_run() -> None:
    for line in "".join(fenced("console")).splitlines():
        words = [
            str(found)
            for word in shlex.split(line)[1:]
            for found in (sorted(Path().glob(word)) if "*" in word else [word])
        ]
        assert run([*words, *(["--quiet"] if words[0] == "train" else [])]) == 0, line
