"""How likely each label is wrong: calibration, order and count on drawn data, whatever the judges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.audit import label_model
from noiselimit.audit.label_model import LabelModel, fit_label_model
from noiselimit.audit.quality import measure

CLASSES = 6
NOISES = [("uniform", 0.0), ("uniform", 0.05), ("uniform", 0.2), ("uniform", 0.4), ("pair", 0.3)]


def posterior(
    kind: str, rate: float, seed: int, rows: int = 3000, distance: float = 4.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities [n, 6] of the best predictor of noisy labels, those labels, and the clean ones."""
    generator = np.random.default_rng(seed)
    other = np.ones((6, 6)) / 5 if kind == "uniform" else np.roll(np.eye(6), 1, 1)
    noise = (1 - rate) * np.eye(6) + rate * other * (1 - np.eye(6))
    clean = generator.integers(6, size=rows)
    x = distance * (distance * np.eye(6)[clean] + generator.normal(size=(rows, 6)))
    p = np.exp(x - x.max(1, keepdims=True))
    p = p / p.sum(1, keepdims=True) @ noise
    labels = (generator.random(rows)[:, None] > np.cumsum(noise[clean], 1)).sum(1).clip(0, 5)
    return p.astype(np.float32), labels, clean


@pytest.mark.parametrize("distance", [4.0, 2.0])
@pytest.mark.parametrize(("kind", "rate"), NOISES)
def test_probabilities_of_being_wrong_are_calibrated(kind: str, rate: float, distance: float) -> None:
    p, labels, clean = posterior(kind, rate, 0, distance=distance)
    found = measure(fit_label_model([p], labels), labels)
    wrong, error = labels != clean, found.error_probability
    close = 0.04 if distance > 3 else 0.1  # overlapping classes
    assert abs(error.mean() - wrong.mean()) < close
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.0)):
        part = (error >= low) & (error <= high)
        assert abs(error[part].sum() - wrong[part].sum()) < close * len(wrong)
    if rate == 0:  # where classes overlap, few disagreements are taken for errors
        flagged = ((error > 0.5) & found.disagrees).mean()
        assert flagged < 0.5 * (p.argmax(1) != labels).mean() + 0.01


def test_pairs_of_confused_classes_are_found() -> None:
    p, labels, clean = posterior("pair", 0.3, 1)
    model = fit_label_model([p], labels)
    counted = np.zeros((CLASSES, CLASSES))
    np.add.at(counted, (clean, labels), 1)
    np.testing.assert_allclose(model.transition, counted / counted.sum(1, keepdims=True), atol=0.12)


def test_the_better_judge_weighs_more_and_both_are_better_than_either() -> None:
    good, labels, clean = posterior("uniform", 0.2, 2, distance=2.5)
    generator = np.random.default_rng(0)
    poor = generator.dirichlet(np.ones(CLASSES), len(labels)) * 0.8 + 0.2 * good
    model = fit_label_model([good, poor], labels)
    assert model.weights[0] > 1.2 * model.weights[1]

    def missed(judges: list[np.ndarray]) -> int:
        flags = measure(fit_label_model(judges, labels), labels).label_quality < 0.5
        return int((flags != (labels != clean)).sum())

    assert missed([good, poor]) <= missed([poor])


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(2, 60), classes=st.integers(2, 6), seed=st.integers(0, 2**20), power=st.floats(0.2, 10)
)
def test_any_probabilities_give_probabilities(rows: int, classes: int, seed: int, power: float) -> None:
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.ones(classes), rows) ** power
    p /= p.sum(1, keepdims=True)
    labels = generator.integers(classes, size=rows)
    model = fit_label_model([p, generator.dirichlet(np.ones(classes), rows)], labels)
    found = measure(model, labels)
    assert found.label_quality.min() >= 0
    assert found.label_quality.max() <= 1
    np.testing.assert_allclose(model.transition.sum(1), 1)
    np.testing.assert_allclose(found.joint.sum(1), np.bincount(labels, minlength=classes), atol=1e-9)
    np.testing.assert_allclose(model.true_classes(slice(None)).sum(1), 1)


def test_judges_that_are_certain_and_wrong_do_no_harm() -> None:
    labels = np.arange(60) % 3
    certain = np.eye(3)[(labels + (np.arange(60) < 3)) % 3]
    found = measure(fit_label_model([certain], labels), labels)
    assert np.isfinite(found.label_quality).all()
    assert (np.argsort(found.label_quality, kind="stable")[:3] < 3).all()


def test_a_sample_of_many_rows_gives_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    p, labels, _ = posterior("uniform", 0.2, 3)
    whole = fit_label_model([p], labels)
    monkeypatch.setattr(label_model, "VALUES", CLASSES * 1500)
    part = fit_label_model([p], labels)
    assert part.anchors < whole.anchors
    np.testing.assert_allclose(part.transition, whole.transition, atol=0.05)
    assert part.shape == whole.shape


def test_missing_labels_take_no_part() -> None:
    p, labels, _ = posterior("uniform", 0.2, 4, rows=300)
    both = np.concatenate([p, np.full((5, CLASSES), 1 / CLASSES, np.float32)])
    models = fit_label_model([p], labels), fit_label_model([both], np.append(labels, np.full(5, -1)))
    assert isinstance(models[0], LabelModel)
    np.testing.assert_allclose(models[0].weights, models[1].weights)
    assert len(measure(models[1], np.append(labels, np.full(5, -1)))) == 300
