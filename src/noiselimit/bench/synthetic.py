"""Data of the real shapes made of random bytes: speed does not ask what a picture shows."""

from functools import cache

import numpy as np

from noiselimit.bench.work import CLASSES, SHAPES, DataName
from noiselimit.data.digits import digits
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.randomness import Stream, random_words

SEED = 0


@cache  # several rows train on the same data
def make_data(name: DataName, examples: int, test_examples: int) -> DataSet:
    """Random pictures [examples, channels, height, width] and a test part; digits are the real ones."""
    if name == "digits":
        return digits()
    return DataSet(
        f"random {name}",
        _random_examples(name, examples, step=0),
        test=_random_examples(name, test_examples, step=2),
    )


def _random_examples(name: DataName, count: int, step: int) -> Examples:
    shape = (count, *SHAPES[name])
    size = int(np.prod(shape))
    words = random_words(SEED, Stream.SAMPLING, step, -(-size // 8))
    labels = random_words(SEED, Stream.SAMPLING, step + 1, count) % np.uint64(CLASSES)
    labels[:CLASSES] = np.arange(CLASSES)  # every class has an example however few there are
    return make_examples(words.view(np.uint8)[:size].reshape(shape), labels.astype(np.int64))
