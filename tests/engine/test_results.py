import pytest

from noiselimit.engine.results import BestEpoch

CASES = [
    ([(0.5, 1.0), (0.6, 9.0), (0.5, 0.1)], 2),  # the highest accuracy, whatever the loss
    ([(0.5, 1.0), (0.5, 0.8), (0.5, 0.9)], 2),  # then the lowest loss
    ([(0.5, 0.8), (0.5, 0.8)], 1),  # then the earlier epoch
    ([], 0),
]


@pytest.mark.parametrize(("epochs", "best"), CASES)
def test_the_best_epoch(epochs: list[tuple[float, float]], best: int) -> None:
    history = [
        {"epoch": number, "validation_accuracy": accuracy, "validation_loss": loss}
        for number, (accuracy, loss) in enumerate(epochs, 1)
    ]
    assert BestEpoch.of(history).epoch == best


def test_patience_counts_epochs_without_a_higher_accuracy() -> None:
    best = BestEpoch().after(1, 0.5, 1.0).after(2, 0.5, 0.9).after(3, 0.5, 0.8)
    assert best.exhausted(3, patience=2)
    assert not best.exhausted(3, patience=3)
