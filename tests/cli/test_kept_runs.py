"""What is said to be kept is what is kept."""

import pytest

from noiselimit.cli.train import in_words


@pytest.mark.parametrize(
    ("finished", "epochs", "sentence"),
    [
        (0, [], "nothing is kept yet, and the same command starts anew"),
        (1, [], "1 finished run is kept, and the same command goes on"),
        (2, [], "2 finished runs are kept, and the same command goes on"),
        (0, [7], "epoch 7 of 1 run is kept, and the same command goes on"),
        (0, [7, 7], "epoch 7 of 2 runs is kept, and the same command goes on"),
        (0, [3, 7, 7], "epochs 3 to 7 of 3 runs are kept, and the same command goes on"),
        (1, [7], "1 finished run and epoch 7 of 1 other are kept, and the same command goes on"),
        (2, [3, 7], "2 finished runs and epochs 3 to 7 of 2 others are kept, and the same command goes on"),
    ],
)
def test_in_words(finished: int, epochs: list[int], sentence: str) -> None:
    assert in_words(finished, epochs) == sentence
