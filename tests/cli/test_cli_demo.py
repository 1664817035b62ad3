"""noiselimit demo, with two epochs in place of sixty; what it promises is tested on its own."""

import json
from functools import partial
from pathlib import Path

import pytest

from noiselimit.cli.demo import run_demo


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noiselimit.cli.demo.run_demo", partial(run_demo, epochs=1))


@pytest.mark.usefixtures("_short")
def test_table_summary_and_report(command):
    answer = command("demo", "--quiet")
    assert (answer.code, answer.err) == (0, "")
    assert "40 %" in answer.out.splitlines()[0]
    assert answer.out.splitlines()[-1].endswith("demo/report.html")
    summary = json.loads(Path("demo/summary.json").read_text())
    assert len(summary) == sum("ce " in line or "limit-" in line for line in answer.out.splitlines())
    assert {path.parent.name for path in Path("demo").glob("*/spec.json")} == {
        run["folder"] for run in summary
    }

    again = command("demo", "--json", "--seed", "0")
    assert json.loads(again.out) == summary


@pytest.mark.usefixtures("_short")
def test_seeds_and_folder(command):
    answer = command("demo", "--out", "there", "--seed", "1,2", "--json", "--quiet")
    assert {run["seed"] for run in json.loads(answer.out)} == {1, 2}
    assert Path("there/report.html").is_file()
