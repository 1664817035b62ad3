"""Per-example measures against plain definitions, whatever the size of the chunks."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.audit.quality import measure


def draw(rows: int, classes: int, seed: int, power: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.ones(classes), rows) ** power
    return p / p.sum(1, keepdims=True), generator.integers(classes, size=rows)


@settings(max_examples=50, deadline=None)
@given(
    rows=st.integers(1, 40), classes=st.integers(2, 7), seed=st.integers(0, 2**20), power=st.floats(0.1, 20)
)
def test_measures_are_their_definitions(rows: int, classes: int, seed: int, power: float) -> None:
    p, labels = draw(rows, classes, seed, power)
    found = measure(p, labels)
    np.testing.assert_allclose(found.gap, np.linalg.norm(np.eye(classes)[labels] - p, axis=1), atol=1e-12)
    np.testing.assert_allclose(found.label_quality, 1 - found.gap / np.sqrt(2), atol=1e-12)
    for i, label in enumerate(labels):
        best, second = np.sort(p[i])[::-1][:2]
        assert found.doubt[i] == np.delete(p[i], label).max() - p[i, label]
        assert found.lead[i] == best - second
        assert found.probability[i] == p[i, found.predicted[i]] == best


def test_the_given_label_wins_ties() -> None:
    found = measure(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0, 1]))
    assert found.predicted.tolist() == [0, 1]
    assert not found.disagrees.any()
