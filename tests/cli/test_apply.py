"""noiselimit apply: which decisions it takes, what it prints, and what it leaves alone."""

import json
from pathlib import Path

import pandas as pd
import pytest

from noiselimit.audit.decisions import Decision, Decisions
from noiselimit.data.reading import Reading
from tests.audits import saved

ROWS = "".join(f'{row},"{"a, <b>" if row % 2 else "dog"}",0.{row}0\n' for row in range(10))


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """The folder of an audit that flags rows 0 to 3; its data are in pets.csv."""
    (tmp_path / "pets.csv").write_text(f"id,kind,weight\n{ROWS}")
    saved("pets.csv", tmp_path / "audit", Reading(label="kind", weight="weight"))
    return tmp_path / "audit"


def review(audit: Path) -> None:
    made = Decisions(audit)
    made.add([Decision(0, "relabel", "a, <b>"), Decision(1, "keep"), Decision(8, "drop")], "ann")
    made.add(Decision(0, "drop"), "bob")
    made.add(Decision(0, "relabel", "a, <b>"), "cem")
    made.close()


def test_decisions_of_the_review_are_applied(command, audit) -> None:
    review(audit)
    before = Path("pets.csv").read_bytes(), {path.name for path in audit.iterdir()}
    answer = command("apply", audit, "--to", "fixed.csv")
    assert (answer.code, answer.err) == (0, "")
    assert "9 rows, 1 relabelled, 1 dropped" in answer.out
    lines = ROWS.splitlines()
    lines[0] = '0,"a, <b>",0.00'
    expected = [*lines[:8], lines[9]]
    read = pd.read_csv("fixed.csv", dtype=str)
    assert read["kind"].tolist() == ["a, <b>", "a, <b>", *["dog", "a, <b>"] * 3, "a, <b>"]
    assert read["weight"].tolist() == [line.rsplit(",", 1)[1] for line in expected]
    assert (Path("pets.csv").read_bytes(), {path.name for path in audit.iterdir()}) == before
    assert sorted(path.name for path in Path().iterdir()) == ["audit", "fixed.csv", "pets.csv"]


def test_a_dry_run_prints_the_difference_and_writes_nothing(command, audit) -> None:
    answer = command("apply", audit, "--fix", "relabel", "--dry-run")
    assert [line.split() for line in answer.out.splitlines()[1:3]] == [
        ["0", "dog", "a,", "<b>"],
        ["1", "a,", "<b>", "dog"],
    ]
    assert "4 relabelled" in answer.out
    found = json.loads(command("apply", audit, "--fix", "drop", "--dry-run", "--json", "--to", "x.csv").out)
    assert [found["to"], found["written"]] == [None, None]
    assert found["changes"][1] == {"row": 1, "given_label": "a, <b>", "action": "drop", "label": None}
    assert sorted(path.name for path in Path().iterdir()) == ["audit", "pets.csv"]


def test_flags_complete_the_review_and_majority_settles(command, audit) -> None:
    review(audit)
    options = ("--fix", "drop", "--conflicts", "majority", "--json")
    found = json.loads(command("apply", audit, "--to", "fixed.csv", *options).out)
    assert [(each["row"], each["action"]) for each in found["changes"]] == [
        (0, "relabel"),
        (2, "drop"),
        (3, "drop"),
        (8, "drop"),
    ]
    assert found["written"] == {"rows": 7, "dropped": 3, "relabelled": 1}
    assert "--overwrite" in command("apply", audit, "--to", "fixed.csv").err
    assert command("apply", audit, "--to", "fixed.csv", "--overwrite").code == 0


def test_decisions_from_elsewhere(command, audit) -> None:
    review(audit)
    Path("mine.jsonl").write_text('{"row": 5, "label": "dog"}\n')
    assert (
        "1 relabelled, 0 dropped" in command("apply", audit, "--decisions", "mine.jsonl", "--to", "a.csv").out
    )
    assert pd.read_csv("a.csv")["kind"][5] == "dog"


def test_data_that_moved(command, audit) -> None:
    Path("pets.csv").rename("moved.csv")
    fix = ("--fix", "drop", "--to", "fixed.csv")
    answer = command("apply", audit, *fix)
    assert (answer.code, "--data" in answer.err) == (2, True)
    assert command("apply", audit, *fix, "--data", "moved.csv").code == 0
    assert len(pd.read_csv("fixed.csv")) == 6


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--to", "b.csv"), "--fix"),
        (("--fix", "drop"), "--to"),
        (("--fix", "guess", "--to", "b.csv"), "guess"),
        (("--fix", "drop", "--to", "b.parquet"), ".csv"),
        (("--fix", "drop", "--to", "pets.csv", "--overwrite"), "source"),
        (("--decisions", "gone.csv", "--to", "b.csv"), "gone.csv"),
        (("--fix", "drop", "--to="), "empty"),
    ],
)
def test_mistakes(command, audit, arguments, word) -> None:
    answer = command("apply", audit, *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert word in answer.err
    assert sorted(path.name for path in Path().iterdir()) == ["audit", "pets.csv"]


def test_noise_that_was_added_is_not_applied(command, tmp_path) -> None:
    saved("digits", tmp_path / "audit", noise="uniform:0.3")
    assert "noise" in command("apply", "audit", "--fix", "drop", "--to", "b.npz").err


def test_named_data_sets_have_no_file_to_copy(command, tmp_path) -> None:
    saved("digits", tmp_path / "audit")
    assert "digits" in command("apply", "audit", "--fix", "drop", "--to", "b.npz").err
    assert command("apply", "audit", "--fix", "drop", "--dry-run").code == 0
