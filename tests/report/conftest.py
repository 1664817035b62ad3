"""Reports to test with: an ordinary one and its parts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from noiselimit.report.content import Report, RunLine, Suspect
from tests.pages import run_line


def history(*rows: tuple[float | None, float | None]) -> list[dict[str, float | None]]:
    """Rows of (training accuracy, test accuracy), from epoch 1 on."""
    return [
        {"epoch": epoch, "train_accuracy": train, "validation_accuracy": None, "test_accuracy": test}
        for epoch, (train, test) in enumerate(rows, start=1)
    ]


@pytest.fixture
def runs() -> list[RunLine]:
    falling = history((0.5, 0.9), (0.8, 0.75), (0.9, 0.672))
    rising = history((0.3, 0.5), (0.55, 0.9), (0.6, 0.981))
    metrics = {"memorised_wrong_labels": 0.031, "gap_auc": 0.9991, "best_epoch": 3}
    beta = {"beta": 10.0}
    return [
        run_line("ce", history=falling, test_accuracy=0.9, last_test_accuracy=0.672),
        run_line("limit-l", beta, 0, True, rising, test_accuracy=0.981, last_test_accuracy=0.98, **metrics),
        run_line("limit-g", {"beta": 0.3}, history=rising, test_accuracy=0.95, last_test_accuracy=0.94),
    ]


@pytest.fixture
def make_report(runs: list[RunLine]) -> Callable[..., Report]:
    """The ordinary report with some of its fields replaced."""

    def make(**changes: Any) -> Report:
        generator = np.random.default_rng(0)
        picture = generator.integers(0, 256, (1, 8, 8)).astype(np.uint8)
        fields: dict[str, Any] = {
            "title": "noiselimit demo",
            "sentence": "The result.",
            "runs": runs,
            "scores": {
                "right labels": generator.uniform(0, 0.7, 60),
                "wrong labels": generator.uniform(0.7, 1.414, 40),
            },
            "suspects": [
                Suspect(7, "1", "3", 1.4, "3", picture),
                Suspect(8, "2", "5", 1.3, "6", picture),
                Suspect(9, "4", "9", 1.2, "4", picture),
            ],
            "facts": {"data set": "digits", "seeds": "0"},
            "wrong_share": 0.4,
        }
        return Report(**(fields | changes))

    return make
