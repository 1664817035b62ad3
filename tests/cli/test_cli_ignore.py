"""--ignore: columns of a table that no network is to see, and what is told of those better left out."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROWS = 120
QUICK = ("--quiet", "--epochs", "6", "--threads", "1")
AUDIT = ("audit", "t.csv", "--label", "kind", "--fast", *QUICK)


@pytest.fixture(autouse=True)
def table() -> pd.DataFrame:
    """t.csv: two kinds that 'size' tells apart; 'code' is made from the kinds, which are partly wrong."""
    generator = np.random.default_rng(0)
    right = np.arange(ROWS) % 2
    given = np.where(np.arange(ROWS) % 15 == 4, 1 - right, right)
    frame = pd.DataFrame(
        {
            "id": np.arange(ROWS) + 1000,
            "size": 5 * right + generator.normal(size=ROWS),
            "site": generator.choice(["north", "south", "west"], ROWS),
            "kind": np.array(["ant", "cow"])[given],
            "my code": np.array(["A", "C"])[given],
        }
    )
    frame.to_csv("t.csv", index=False)
    return frame


def test_columns_that_give_labels_away_are_told_of(command) -> None:
    answer = command(*AUDIT)
    assert answer.code == 0
    telling, numbering = answer.err.splitlines()
    assert telling.startswith("t.csv: column 'my code' tells the label without any other")
    assert telling.endswith("leave it out with --ignore 'my code'.")
    assert numbering.endswith("leave it out with --ignore id.")
    assert "Inputs: 4 columns (2 of numbers, 2 of categories as 5 features)." in answer.out.splitlines()
    assert "tells the label without any other" in Path("audit-t/report.html").read_text("utf-8")


def test_an_audit_leaves_them_out_and_says_so(command) -> None:
    answer = command(*AUDIT, "--ignore", "my code,id", "--json", "--write", "cleaned.csv", "--budget", "8")
    assert answer.code == 0
    assert answer.err == "t.csv: left out, as asked: 'id', 'my code'.\n"
    found = json.loads(answer.out)
    assert found["inputs"] == "2 columns (1 of numbers, 1 of categories as 3 features)"
    assert found["columns"] == ["size", "site"]
    assert found["remarks"] == [answer.err.strip()]
    assert pd.read_csv("cleaned.csv").shape == (ROWS - 8, 5)  # the copy has all columns
    page = Path("audit-t/report.html").read_text("utf-8")
    assert "2 columns (1 of numbers, 1 of categories as 3 features)" in page
    assert "left out, as asked" in page


def test_what_is_left_out_of_training_need_not_be_there_to_predict(command, table) -> None:
    train = ("train", "--data", "t.csv", "--label", "kind", "--method", "ce", *QUICK, "--out", "runs")
    assert command(*train, "--ignore", 'id,"my code"').code == 0
    (run,) = Path("runs").glob("ce-*")
    assert command("predict", run, "t.csv", "--out", "a.csv").code == 0
    table[["site", "size"]].to_csv("new.csv", index=False)
    assert command("predict", run, "new.csv", "--out", "b.csv").code == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


def test_a_preview_of_noise_takes_it_too(command) -> None:
    answer = command(
        "noise", "--noise", "uniform:0.4", "--data", "t.csv", "--label", "kind", "--ignore", "my code,id"
    )
    assert answer.code == 0
    assert answer.err == "t.csv: left out, as asked: 'id', 'my code'.\n"


@pytest.mark.parametrize(
    ("ignore", "sentence"),
    [
        ("sie", "t.csv: there is no column 'sie' but id, size, site, my code; did you mean --ignore size?"),
        ("zzz", "; name one with --ignore."),
        ("id,kind", "t.csv: --ignore names 'kind', the column of --label; leave it out of --ignore."),
        ("id,size,site,my code", "t.csv: --ignore leaves no column of inputs; name fewer."),
        ("id,", "--ignore is 'id,': give a column's name, or several separated by commas."),
    ],
)
def test_columns_that_cannot_be_ignored(command, ignore, sentence) -> None:
    answer = command(*AUDIT, "--ignore", ignore)
    assert answer.code == 2
    assert answer.err.startswith("noiselimit: ")
    assert answer.err.endswith(f"{sentence}\n")
    assert answer.err.count("\n") == 1
    assert not Path("audit-t").exists()


def test_it_is_for_tables(command) -> None:
    answer = command("audit", "digits", "--ignore", "x")
    assert answer.code == 2
    assert "digits: --ignore is for tables (CSV, Parquet), which these are not; leave it out." in answer.err
