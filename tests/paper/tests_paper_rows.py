"""Rows that tests change."""

from pathlib import Path
from typing import Any

import pandas as pd

from paper.rows import TYPES, setting_key

RESULTS = Path(__file__).parents[2] / "results" / "reproduce"
ROW = {
    "data": "mnist",
    "noise": "uniform",
    "p": 0.8,
    "n": 48_000,
    "method": "limit-l",
    "hyper": "beta=10",
    "seed": 0,
    "epochs": 400,
    "patience": 100,
    "network": "mnist-cnn",
    "precision": "bfloat16",
    "quick": False,
    "epochs_run": 200,
    "best_epoch": 100,
    "validation_accuracy": 0.2,
    "validation_loss": 2.2,
    "test_accuracy": 0.976,
    "bootstrap_std": 0.0015,
    "gap_auc": 0.9989,
    "seconds": 5.0,
    "failure": "",
    "device": "GPU",
    "versions": "",
    "commit": "",
    "date": "2026-11-15",
}
FAILED = dict.fromkeys(("validation_accuracy", "validation_loss", "test_accuracy", "bootstrap_std"))


def make_rows(*changes: dict[str, Any]) -> pd.DataFrame:
    """Rows of LIMIT-L on MNIST with 80 % noise, each changed."""
    rows = [ROW | change for change in changes]
    return pd.DataFrame([row | {"setting": setting_key(row)} for row in rows], columns=[*TYPES, "setting"])
