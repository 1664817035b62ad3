from collections.abc import Callable
from typing import Any

import pytest

from noiselimit.reproduce.rows import ResultRow


@pytest.fixture
def figure_row() -> Callable[..., ResultRow]:
    """A row of LIMIT-L on MNIST with 80 % noise, changed as the test wants it."""

    def make(**changes: Any) -> ResultRow:
        values: dict[str, Any] = {
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
            "validation_accuracy": 0.198,
            "validation_loss": 2.2,
            "test_accuracy": 0.977,
            "bootstrap_std": 0.0015,
            "gap_auc": 0.9989,
            "seconds": 5.0,
            "failure": "",
            "device": "NVIDIA H200",
            "versions": "noiselimit=0.1.0",
            "commit": "abcdef0",
            "date": "2026-11-15T12:00:00+00:00",
        }
        return ResultRow(**{**values, **changes})

    return make
