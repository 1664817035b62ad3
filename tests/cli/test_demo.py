"""noiselimit demo, and what it promises."""

import json
from pathlib import Path
from statistics import fmean

import pytest

PUBLISHED = Path(__file__).parents[2] / "results" / "demo.json"


def test_table_summary_and_report(command, monkeypatch):
    monkeypatch.setattr("noiselimit.cli.demo.EPOCHS", 1)
    answer = command("demo", "--quiet", "--out", "there", "--seed", "1,2")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[-1].endswith("there/report.html")
    summary = json.loads(Path("there/summary.json").read_text())
    assert {run["seed"] for run in summary} == {1, 2}
    assert {path.parent.name for path in Path("there").glob("*/spec.json")} == {
        run["folder"] for run in summary
    }
    again = command("demo", "--json", "--quiet", "--out", "there", "--seed", "1,2")
    assert json.loads(again.out) == summary


@pytest.mark.slow
def test_limit_learns_where_cross_entropy_memorises(command):
    lines = json.loads(command("demo", "--seed", "0", "--json", "--quiet").out)
    assert len(lines) == 1 + 2 * 3  # cross-entropy has no β
    chosen = [line for line in lines if line["chosen"]]
    baseline = [line for line in lines if line["method"] == "ce"]
    assert len(chosen) == len(baseline) == 1
    assert all(line["method"].startswith("limit") for line in chosen)
    assert fmean(line["test_accuracy"] for line in chosen) >= 0.95
    assert fmean(line["gap_auc"] for line in chosen) >= 0.995
    assert fmean(line["last_test_accuracy"] for line in baseline) <= 0.78
    assert fmean(line["memorised_wrong_labels"] for line in baseline) > 0.9
    assert fmean(line["memorised_wrong_labels"] for line in chosen) < 0.1
    published = [run for run in json.loads(PUBLISHED.read_text("utf-8"))["runs"] if run["seed"] == 0]
    for name, tolerance in (("test_accuracy", 0.03), ("last_test_accuracy", 0.05), ("gap_auc", 0.01)):
        for method in ("ce", "limit-l", "limit-g"):
            ours, theirs = (
                fmean(line[name] for line in each if line["method"] == method) for each in (lines, published)
            )
            assert ours == pytest.approx(theirs, abs=tolerance)
