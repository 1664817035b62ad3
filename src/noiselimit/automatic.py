"""What the estimator takes where nobody chose: by the number of examples, so that few suffice too."""

BETAS = (3.0, 10.0, 30.0)
"""What noisy validation labels choose β from."""
BATCHES = 16
"""What an epoch is cut into, within these bounds."""
SMALLEST_BATCH, LARGEST_BATCH = 32, 256
STEPS = 150
"""What a training aims at, within these bounds; few examples make few steps of an epoch."""
FEWEST_EPOCHS, MOST_EPOCHS = 30, 60


def is_auto(value: object) -> bool:
    """Whether a setting is left to us; it may be anything, such as an array, which has no one comparison."""
    return isinstance(value, str) and value == "auto"


def fitting_batch_size(examples: int) -> int:
    """For so many training examples."""
    return min(max(examples // BATCHES, SMALLEST_BATCH), LARGEST_BATCH)


def fitting_epochs(examples: int, batch_size: int) -> int:
    """For so many training examples in batches of this size."""
    steps = -(-examples // batch_size)
    return min(max(STEPS // steps, FEWEST_EPOCHS), MOST_EPOCHS)
