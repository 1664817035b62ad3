"""Examples for every noise: four named classes, labels that go round, and another set of labels."""

from collections.abc import Callable

import numpy as np
import pytest

from noiselimit.data.examples import Examples, make_examples

NAMES = ("cat", "dog", "deer", "horse")


@pytest.fixture(scope="session")
def many() -> Callable[[int], Examples]:
    """As many examples as asked for; example i is the same whatever the number."""
    inputs = np.random.default_rng(5).normal(size=(80_000, 3)).astype(np.float32)

    def make(count: int) -> Examples:
        labels = np.arange(count) % len(NAMES)
        return make_examples(
            inputs[:count],
            labels,
            class_names=NAMES,
            label_sets={"worst": (labels + labels // 3) % len(NAMES)},
        )

    return make
