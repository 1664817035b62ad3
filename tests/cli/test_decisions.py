"""noiselimit decisions: counts, exports and imports."""

import json
from pathlib import Path

import pandas as pd
import pytest

from noiselimit.data.reading import Reading
from tests.audits import saved


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    pd.DataFrame({"x": range(10), "label": ["cat", "dog"] * 5}).to_csv(tmp_path / "pets.csv", index=False)
    saved("pets.csv", tmp_path / "audit", Reading())
    return tmp_path / "audit"


def test_decisions_go_round(command, audit) -> None:
    assert command("decisions", audit).out.startswith("0 decided")
    assert "no decisions" in command("decisions", audit, "--to", "d.csv").err
    assert "4 rows" in command("decisions", audit, "--to", "d.csv", "--flagged").out
    frame = pd.read_csv("d.csv")
    frame["label"] = ["dog", "dog", None, None]
    frame.to_csv("mine.csv", index=False)
    assert "2 decisions" in command("decisions", audit, "--from", "mine.csv", "--name", "ann").out
    found = json.loads(command("decisions", audit, "--json").out)
    assert found == {"decided": 2, "relabel": 1, "keep": 1, "conflicts": 0}
    assert command("decisions", audit, "--to", "d.jsonl").code == 0
    lines = [json.loads(line) for line in Path("d.jsonl").read_text().splitlines()]
    assert [(line["row"], line["action"], line["reviewer"]) for line in lines] == [
        (0, "relabel", "ann"),
        (1, "keep", "ann"),
    ]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--to", "a.csv", "--from", "b.csv"), "one at a time"),
        (("--from", "b.csv"), "b.csv"),
        (("--to", "a.xml"), "--format"),
        (("--to", "a.xml", "--format", "xml"), "xml"),
    ],
)
def test_mistakes(command, audit, arguments, word) -> None:
    answer = command("decisions", audit, *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert word in answer.err
    assert sorted(path.name for path in Path().iterdir()) == ["audit", "pets.csv"]
