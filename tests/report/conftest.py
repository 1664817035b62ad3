"""Reports to test with: an ordinary one and its parts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from noiselimit.report.content import Report, RunLine, Suspect


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
    return [
        RunLine("ce", {}, 0, False, 0.9, 0.672, 0.62, 0.93, 1, falling),
        RunLine("limit-l", {"beta": 10.0}, 0, True, 0.981, 0.98, 0.031, 0.9991, 3, rising),
        RunLine("limit-g", {"beta": 0.3}, 0, False, 0.95, 0.94, 0.05, 0.99, 3, rising),
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
            "gaps_right": generator.uniform(0, 0.7, 60),
            "gaps_wrong": generator.uniform(0.7, 1.414, 40),
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
