"""Which epoch of a row is the best, and when patience ends."""

from unittest.mock import Mock

import pytest

from noiselimit.engine.results import Row
from noiselimit.runs.spec import RunSpec

CASES = [
    ([(0.5, 1.0), (0.6, 9.0), (0.5, 0.1)], 2),  # the highest accuracy, whatever the loss
    ([(0.5, 1.0), (0.5, 0.8), (0.5, 0.9)], 2),  # then the lowest loss
    ([(0.5, 0.8), (0.5, 0.8)], 1),  # then the earlier epoch
    ([], 0),
]


def trained(epochs: list[tuple[float, float]], patience: int = 9) -> Row:
    row = Row(0, RunSpec(patience=patience), Mock())
    for number, (accuracy, loss) in enumerate(epochs, 1):
        row.add({"epoch": number, "validation_accuracy": accuracy, "validation_loss": loss})
    return row


@pytest.mark.parametrize(("epochs", "best"), CASES)
def test_the_best_epoch(epochs: list[tuple[float, float]], best: int) -> None:
    assert trained(epochs).best_epoch == best


def test_patience_counts_epochs_without_a_higher_accuracy() -> None:
    epochs = [(0.5, 1.0), (0.5, 0.9), (0.5, 0.8)]
    assert trained(epochs, patience=2).ends_after(3)
    assert not trained(epochs, patience=3).ends_after(3)
