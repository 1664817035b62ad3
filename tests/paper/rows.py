"""Rows that tests change."""

from pathlib import Path
from typing import Any

import pandas as pd

from paper.rows import TYPES, read_rows, setting_key

RESULTS = Path(__file__).parents[2] / "results" / "reproduce"
FAILED = dict.fromkeys(("validation_accuracy", "validation_loss", "test_accuracy", "bootstrap_std"))


def make_rows(*changes: dict[str, Any]) -> pd.DataFrame:
    """Rows of LIMIT-L on MNIST with 80 % noise, 200 of 400 epochs, each changed."""
    rows = read_rows(RESULTS / "mnist.csv").query(
        "p == 0.8 and n == 48_000 and hyper == 'beta=10' and seed == 0"
    )
    base = dict(rows[rows["method"] == "limit-l"].iloc[0][list(TYPES)])
    base |= {"epochs_run": 200, "best_epoch": 100, "validation_accuracy": 0.2, "validation_loss": 2.2}
    base |= {"test_accuracy": 0.976, "commit": ""}
    found = [base | change for change in changes]
    return pd.DataFrame([row | {"setting": setting_key(row)} for row in found], columns=[*TYPES, "setting"])
