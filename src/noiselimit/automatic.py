"""What the estimator and audits take where nobody chose: by the number of examples, so that few suffice."""

BETAS = (3.0, 10.0, 30.0)
"""What noisy validation labels choose the estimator's β from."""
BATCHES = 16
"""What an epoch is cut into, within these bounds."""
SMALLEST_BATCH, LARGEST_BATCH = 32, 256
MOST_BATCHES, LARGEST_OF_ALL = 800, 1024
"""Many examples are cut into no more than so many batches, as long as these hold no more than that."""
MOST_VALUES = 4096
"""Larger inputs, pictures, never come in such batches: what networks make of them is larger still."""
FEWEST_STEPS, MOST_STEPS = 150, 10_000
"""What a training aims at, within these bounds: few examples make few steps of an epoch."""
FEWEST_EPOCHS, USUAL_EPOCHS, MOST_EPOCHS = 8, 30, 60


def is_auto(value: object) -> bool:
    """Whether a setting is left to us; it may be anything, such as an array, which has no one comparison."""
    return isinstance(value, str) and value == "auto"


def fitting_batch_size(examples: int, values: int = 1) -> int:
    """For so many training examples, of so many values each."""
    usual = min(max(examples // BATCHES, SMALLEST_BATCH), LARGEST_BATCH)
    return usual if values > MOST_VALUES else max(usual, min(examples // MOST_BATCHES, LARGEST_OF_ALL))


def fitting_epochs(examples: int, batch_size: int) -> int:
    """For so many training examples in batches of this size."""
    steps = -(-examples // batch_size)
    if steps * USUAL_EPOCHS < FEWEST_STEPS:
        return min(FEWEST_STEPS // steps, MOST_EPOCHS)
    return min(max(MOST_STEPS // steps, FEWEST_EPOCHS), USUAL_EPOCHS)
