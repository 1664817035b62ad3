from noiselimit.engine.results import BestEpoch


def follow(*epochs: tuple[float, float]) -> BestEpoch:
    best = BestEpoch()
    for number, (accuracy, loss) in enumerate(epochs, 1):
        best = best.after(number, accuracy, loss)
    return best


def test_higher_accuracy_wins_whatever_the_loss() -> None:
    assert follow((0.5, 1.0), (0.6, 9.0), (0.5, 0.1)).epoch == 2


def test_ties_go_to_the_lower_loss_then_to_the_earlier_epoch() -> None:
    assert follow((0.5, 1.0), (0.5, 0.8), (0.5, 0.9)).epoch == 2
    assert follow((0.5, 0.8), (0.5, 0.8)).epoch == 1


def test_patience_counts_epochs_without_a_higher_accuracy() -> None:
    best = follow((0.5, 1.0), (0.5, 0.9), (0.5, 0.8))
    assert best.epoch == 3
    assert best.exhausted(3, patience=2)
    assert not best.exhausted(3, patience=3)


def test_a_history_tells_the_same() -> None:
    epochs = [(0.5, 1.0), (0.7, 0.9), (0.7, 0.8), (0.6, 0.1), (0.7, 0.8)]
    history = [
        {"epoch": number, "validation_accuracy": accuracy, "validation_loss": loss}
        for number, (accuracy, loss) in enumerate(epochs, 1)
    ]
    for length in range(6):
        assert BestEpoch.of(history[:length]) == follow(*epochs[:length])
