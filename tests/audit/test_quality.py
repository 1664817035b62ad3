"""Per-example measures against plain definitions, whatever the size of the chunks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.audit import quality as chunked
from noiselimit.audit.label_model import FLOOR, LabelModel
from noiselimit.audit.quality import measure


def model_of(p: np.ndarray, transition: np.ndarray) -> LabelModel:
    """A label model whose probabilities of the true classes are close to those given."""
    return LabelModel([p], np.ones(1), np.zeros(p.shape[1]), transition, anchors=len(p))


def draw(rows: int, classes: int, seed: int, power: float = 2.0) -> tuple[LabelModel, np.ndarray]:
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.ones(classes), rows) ** power
    p /= p.sum(1, keepdims=True)
    transition = 0.8 * np.eye(classes) + 0.2 * generator.dirichlet(np.ones(classes), classes)
    return model_of(p, transition), generator.integers(classes, size=rows)


@settings(max_examples=50, deadline=None)
@given(
    rows=st.integers(1, 40), classes=st.integers(2, 7), seed=st.integers(0, 2**20), power=st.floats(0.1, 20)
)
def test_measures_are_their_definitions(rows: int, classes: int, seed: int, power: float) -> None:
    model, labels = draw(rows, classes, seed, power)
    p = model.true_classes(slice(None))
    np.testing.assert_allclose(p, (1 - FLOOR) * model.judges[0] + FLOOR / classes)
    found = measure(model, labels)
    np.testing.assert_allclose(found.gap, np.linalg.norm(np.eye(classes)[labels] - p, axis=1), atol=1e-12)
    for i, label in enumerate(labels):
        right = p[i, label] * model.transition[label, label] / (p[i] @ model.transition[:, label])
        assert found.label_quality[i] == pytest.approx(right)
        assert found.against[i] == (p[i].argmax() != label)
        assert found.probability[i] == p[i, found.predicted[i]] == p[i].max()
    least = np.sort(p, axis=1)[:, -2].sum()
    assert found.overlap.sum() == pytest.approx(2 * least)
    assert found.joint.sum() == pytest.approx(rows)


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    model, labels = draw(500, 6, 0)
    labels[::7] = -1
    whole = measure(model, labels)
    monkeypatch.setattr(chunked, "CHUNK", 50)
    for name, value in vars(measure(model, labels)).items():
        np.testing.assert_allclose(value, getattr(whole, name))


def test_the_given_label_wins_ties() -> None:
    found = measure(model_of(np.array([[0.5, 0.5], [0.5, 0.5]]), np.eye(2)), np.array([0, 1]))
    assert found.predicted.tolist() == [0, 1]
    assert not found.disagrees.any()
