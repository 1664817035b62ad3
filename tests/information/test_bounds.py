"""Theorems 2.1 and 2.2 and the gradient capacity, against enumeration and integration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.information import (
    binary_entropy,
    generalisation_gap,
    gradient_capacity,
    least_error,
    least_information,
    training_capacity,
    uniform_noise_entropy,
)
from tests.information.enumerated import BATCH, DRAWS, Problems, Shape, any_problems, bits

LAPLACE_MORE = 0.5 * np.log(np.pi / np.e)


def right_side(error, classes):
    return error * np.log2(classes - 1) + binary_entropy(error)


def test_the_papers_examples():
    entropy = uniform_noise_entropy(0.8, 10)
    assert least_error(entropy, 0, 10) == pytest.approx(0.8, abs=1e-12)
    assert least_error(entropy, 1, 10) == pytest.approx(0.405, abs=5e-4)
    nats = least_error(entropy * np.log(2), np.log(2), 10, unit="nats")
    assert nats == pytest.approx(least_error(entropy, 1, 10), abs=1e-12)


@settings(max_examples=DRAWS, deadline=None)
@given(any_problems())
def test_enumerated_learners_obey_all_bounds(found: Problems):
    n, k = found.shape.examples, found.shape.classes
    inputs, labels = np.maximum(found.input_information, 0), np.maximum(found.label_information, 0)
    entropy = np.maximum(found.label_entropy, 0)
    error = np.clip(found.training_error, 0, 1)
    assert (least_error(entropy, labels / n, k) <= error + 1e-9).all()
    assert (least_information(entropy, error, k) <= labels / n + 1e-9).all()
    weights = bits(found.joint.sum((1, 2))) + bits(found.data) - bits(found.joint)
    assert inputs + labels == pytest.approx(weights, abs=1e-9)
    # Without information, rounding of 1e-16 has a root of 1e-8.
    gap = np.abs(found.test_error - found.training_error)
    assert (gap <= generalisation_gap(inputs, labels, n) + 1e-7).all()


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_symmetric_channel_reaches_the_bound(classes):
    """Weights that hold the label with uniform mistakes of rate q: equality in Fano for every q."""
    q = np.linspace(0, (classes - 1) / classes, 60)
    channel = np.full((60, classes, classes), 1.0) * (q / (classes - 1))[:, None, None]
    channel[:, np.arange(classes), np.arange(classes)] = (1 - q)[:, None]
    classifier = np.broadcast_to(np.eye(classes), (60, 1, classes, classes))
    example = np.full((60, 1, classes), 1 / classes)
    found = Problems(Shape(1, 1, classes, classes, 0), example, example, channel[:, None], classifier)
    assert found.training_error == pytest.approx(q)
    information = np.maximum(found.label_information, 0)
    assert least_error(found.label_entropy, information, classes) == pytest.approx(q, abs=1e-7)
    assert least_information(found.label_entropy, q, classes) == pytest.approx(information, abs=1e-12)


@given(share=st.floats(0, 1), known=st.floats(0, 1), p=st.floats(0, 1), classes=st.integers(2, 1000))
def test_the_inequality_is_an_equality_at_the_answer(share, known, p, classes):
    entropy = share * np.log2(classes)
    error = least_error(entropy, known * entropy, classes)
    assert 0 <= error <= (classes - 1) / classes
    assert abs(right_side(error, classes) - entropy * (1 - known)) < 1e-9
    p *= (classes - 1) / classes  # Remark 3: tight for uniform noise without information
    entropy = uniform_noise_entropy(p, classes)
    assert least_error(entropy, 0, classes) <= p + 1e-12
    assert abs(right_side(least_error(entropy, 0, classes), classes) - entropy) < 1e-9
    assert least_information(entropy, p, classes) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("unit", ["bits", "nats"])
def test_edges(classes, unit):
    most = uniform_noise_entropy((classes - 1) / classes, classes, unit=unit)
    assert least_error(0, 0, classes, unit=unit) == 0
    assert least_error(most, [most, 5 * most], classes, unit=unit).tolist() == [0, 0]
    assert least_error(most, 0, classes, unit=unit) == pytest.approx((classes - 1) / classes, abs=1e-7)
    assert least_information(most, 0, classes, unit=unit) == pytest.approx(most, abs=1e-12)
    always_wrong = np.log2(classes - 1) if unit == "bits" else np.log(classes - 1)
    assert least_information(most, 1, classes, unit=unit) == pytest.approx(most - always_wrong, abs=1e-12)
    assert least_information(0, 0.3, classes, unit=unit) == 0


def test_the_two_functions_are_inverse_and_broadcast():
    entropy = uniform_noise_entropy(np.array([0.2, 0.4, 0.6, 0.8])[:, None], 10)
    known = np.linspace(0, 1, 7) * entropy
    error = least_error(entropy, known, 10)
    assert error.shape == (4, 7)
    assert least_information(entropy, error, 10) == pytest.approx(known, abs=1e-9)
    assert isinstance(least_error(1.0, 0.5, 3), float)


def density(distance, sigma, distribution):
    if distribution == "gaussian":
        return np.exp(-((distance / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi))
    return np.exp(-np.sqrt(2) * np.abs(distance) / sigma) / (np.sqrt(2) * sigma)


def exact_information(points, weights, sigma, distribution, steps=2000):
    """I(μ; μ + ε) = E KL[p(g|μ) ‖ p(g)] in nats, [B], of points and weights [B, K] and noise [B]."""
    reach = (9 if distribution == "gaussian" else 22) * sigma
    low, high = points.min(1) - reach, points.max(1) + reach
    grid = low[:, None] + np.linspace(0, 1, steps + 1) * (high - low)[:, None]  # [B, G]
    each = density(grid[:, None] - points[:, :, None], sigma[:, None, None], distribution)  # [B, K, G]
    mixed = (weights[:, :, None] * each).sum(1, keepdims=True)
    ratio = np.where(each > 0, each / mixed, 1)
    return (weights[:, :, None] * each * np.log(ratio)).sum((1, 2)) * (high - low) / steps


def random_points(seed, labels):
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(BATCH, labels)) * generator.choice([0.03, 0.3, 1, 3], size=(BATCH, 1))
    weights = generator.dirichlet(np.ones(labels), size=BATCH)
    return points, weights, np.full(BATCH, generator.uniform(0.5, 1.5))


@settings(max_examples=DRAWS, deadline=None)
@given(seed=st.integers(0, 2**32), labels=st.integers(2, 4), passes=st.integers(1, 6))
def test_noisy_gradients_obey_their_capacity(seed, labels, passes):
    points, weights, sigma = random_points(seed, labels)
    square = (weights * points**2).sum(1)
    exact = exact_information(points, weights, sigma, "gaussian")
    for dimension in (1, 2, 10):  # a line in d dimensions tells no more than in one
        assert (exact <= gradient_capacity(square, dimension, sigma, unit="nats") + 1e-9).all()
    laplace = exact_information(points, weights, sigma, "laplace")
    assert (laplace <= gradient_capacity(square, 1, sigma, "laplace", unit="nats") + 1e-4).all()
    # The same mean T times tells what its average tells, whose noise is σ/√T.
    repeated = exact_information(points[:1], weights[:1], sigma[:1] / np.sqrt(passes), "gaussian")[0]
    norms = np.full(passes, square[0])
    found = training_capacity(norms, 1, sigma[0], examples=7, noise_entropy=0.5, unit="nats")
    assert 7 * repeated <= found.gradients + 1e-9
    assert found.labels == 3.5


def test_laplace_noise_breaks_the_bound_as_printed():
    """μ = ±.1, σ = 1, d = 1."""
    points, weights, sigma = np.array([[-0.1, 0.1]]), np.full((1, 2), 0.5), np.ones(1)
    exact = exact_information(points, weights, sigma, "laplace", steps=200_000)[0]
    printed = gradient_capacity(0.01, 1, 1, "gaussian", unit="nats")
    assert exact == pytest.approx(0.0091, abs=5e-5)
    assert printed == pytest.approx(0.0050, abs=5e-5)
    assert printed < exact < gradient_capacity(0.01, 1, 1, "laplace", unit="nats")


@pytest.mark.parametrize("ratio", [0.01, 0.3, 1.0])
def test_a_gaussian_gradient_reaches_its_capacity(ratio):
    nodes, weights = np.polynomial.hermite_e.hermegauss(25)
    points, weights = (np.sqrt(ratio) * nodes)[None], (weights / weights.sum())[None]
    exact = exact_information(points, weights, np.ones(1), "gaussian")[0]
    assert exact == pytest.approx(gradient_capacity(ratio, 1, 1, unit="nats"), abs=1e-6)


def test_formulas():
    assert gradient_capacity(3, 1, 1) == pytest.approx(1)
    assert gradient_capacity(30 * 0.01, 10, 0.1) == pytest.approx(10)
    assert gradient_capacity(0, 10, 0.1, "laplace", unit="nats") == pytest.approx(10 * LAPLACE_MORE)
    assert gradient_capacity([0.1, 0.2], 10, [[0.1], [0.2], [0.3]]).shape == (3, 2)
    assert gradient_capacity(1, 10, 1e-200) == np.inf
    found = training_capacity([3, 15, 0], 1, 1, examples=100, noise_entropy=3.5)
    assert (found.gradients, found.labels, found.vacuous) == (pytest.approx(300), 350, False)
    assert training_capacity([3, 15, 3], 1, 1, examples=100, noise_entropy=3.5).vacuous
    assert generalisation_gap(60, 40, 50, 0.5, unit="nats") == pytest.approx(1)
    assert generalisation_gap(0, 100 / np.log(2), 50, 0.5) == pytest.approx(1)
    both = generalisation_gap(0, [0, 100, 400], 50, [[0.5], [1.0]], unit="nats")
    assert both == pytest.approx(np.array([[0, 1, 2], [0, 2, 4]]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: least_error(1, -0.1, 3), "information is -0.1"),
        (lambda: least_error(1, [0, float("inf")], 3), "information contains inf"),
        (lambda: least_error(1, 0, 2.5), "classes is 2.5"),
        (lambda: least_error(3.4, 0, 10), "3.322"),
        (lambda: least_error(3, 0, 10, unit="nats"), "2.303"),
        (lambda: least_error("much", 0, 3), "noise_entropy is 'much'"),
        (lambda: least_information(1, 1.1, 3), "error is 1.1"),
        (lambda: gradient_capacity(1, 0, 0.1), "dimension is 0"),
        (lambda: gradient_capacity(1, 10, 0), "sigma is 0"),
        (lambda: gradient_capacity(1, 10, 0.1, "cauchy"), "distribution 'cauchy'"),
        (lambda: generalisation_gap(0, float("nan"), 10), "label_information is nan"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(InputError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
