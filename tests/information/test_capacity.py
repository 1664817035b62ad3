"""Proposition 3.1 against information computed by integration."""

import numpy as np
import pytest
from enumerated import BATCH, DRAWS
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.information import gradient_capacity, training_capacity

LAPLACE_MORE = 0.5 * np.log(np.pi / np.e)


def density(distance, sigma, distribution):
    if distribution == "gaussian":
        return np.exp(-((distance / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi))
    return np.exp(-np.sqrt(2) * np.abs(distance) / sigma) / (np.sqrt(2) * sigma)


def exact_information(points, weights, sigma, distribution, steps=2000):
    """I(μ; μ + ε) = E KL[p(g|μ) ‖ p(g)] in nats, [B], of points and weights [B, K] and noise [B]."""
    reach = (9 if distribution == "gaussian" else 22) * sigma
    share = np.linspace(0, 1, steps + 1)
    low, high = points.min(1) - reach, points.max(1) + reach
    grid = low[:, None] + share * (high - low)[:, None]  # [B, G]
    each = density(grid[:, None] - points[:, :, None], sigma[:, None, None], distribution)  # [B, K, G]
    mixed = (weights[:, :, None] * each).sum(1, keepdims=True)
    ratio = np.where(each > 0, each / mixed, 1)  # far away there is nothing
    integrand = (weights[:, :, None] * each * np.log(ratio)).sum(1)
    return integrand.sum(1) * (high - low) / steps


def random_points(seed, labels):
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(BATCH, labels)) * generator.choice([0.03, 0.3, 1, 3], size=(BATCH, 1))
    weights = generator.dirichlet(np.ones(labels), size=BATCH)
    return points, weights, np.full(BATCH, generator.uniform(0.5, 1.5))


@settings(max_examples=DRAWS, deadline=None)
@given(seed=st.integers(0, 2**32), labels=st.integers(2, 4))
def test_gaussian_noise_obeys_it(seed, labels):
    """A gradient that takes one value per label; a line in d dimensions tells no more than in one."""
    points, weights, sigma = random_points(seed, labels)
    exact = exact_information(points, weights, sigma, "gaussian")
    square = (weights * points**2).sum(1)
    for dimension in (1, 2, 10):
        assert (exact <= gradient_capacity(square, dimension, sigma, unit="nats") + 1e-9).all()


@settings(max_examples=DRAWS, deadline=None)
@given(seed=st.integers(0, 2**32), labels=st.integers(2, 4))
def test_laplace_noise_obeys_the_corrected_bound(seed, labels):
    points, weights, sigma = random_points(seed, labels)
    exact = exact_information(points, weights, sigma, "laplace")
    square = (weights * points**2).sum(1)
    assert (exact <= gradient_capacity(square, 1, sigma, "laplace", unit="nats") + 1e-4).all()
    # Independent components: information and capacity both add up.
    both, squares = exact[:-1] + exact[1:], square[:-1] + square[1:]
    assert (both <= gradient_capacity(squares, 2, sigma[0], "laplace", unit="nats") + 1e-4).all()


def test_laplace_noise_breaks_the_bound_as_printed():
    """μ = ±.1, σ = 1, d = 1."""
    points, weights, sigma = np.array([[-0.1, 0.1]]), np.full((1, 2), 0.5), np.ones(1)
    exact = exact_information(points, weights, sigma, "laplace", steps=200_000)[0]
    printed = gradient_capacity(0.01, 1, 1, "gaussian", unit="nats")
    assert exact == pytest.approx(0.0091, abs=5e-5)
    assert printed == pytest.approx(0.0050, abs=5e-5)
    assert printed < exact < gradient_capacity(0.01, 1, 1, "laplace", unit="nats")
    gaussian = exact_information(points, weights, sigma, "gaussian")[0]
    assert gaussian < printed


@pytest.mark.parametrize("ratio", [0.01, 0.3, 1.0])
def test_a_gaussian_gradient_reaches_it(ratio):
    nodes, weights = np.polynomial.hermite_e.hermegauss(25)
    points, weights = (np.sqrt(ratio) * nodes)[None], (weights / weights.sum())[None]
    exact = exact_information(points, weights, np.ones(1), "gaussian")[0]
    assert exact == pytest.approx(gradient_capacity(ratio, 1, 1, unit="nats"), abs=1e-6)


def test_the_formulas():
    assert gradient_capacity(3, 1, 1) == pytest.approx(1)
    assert gradient_capacity(30 * 0.01, 10, 0.1) == pytest.approx(10)
    assert gradient_capacity(0, 10, 0.1) == 0
    assert gradient_capacity(0, 10, 0.1, "laplace", unit="nats") == pytest.approx(10 * LAPLACE_MORE)
    assert gradient_capacity([0.1, 0.2], 10, [[0.1], [0.2], [0.3]]).shape == (3, 2)
    assert gradient_capacity(1, 10, 1e-200) == np.inf  # vacuous, and said so


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), passes=st.integers(1, 6))
def test_a_training_tells_at_most_the_sum(seed, passes):
    """The same mean T times: together they tell what their average tells, whose noise is σ/√T."""
    points, weights, sigma = random_points(seed, 3)
    exact = exact_information(points, weights, sigma / np.sqrt(passes), "gaussian")
    for p, w, s, information in zip(points, weights, sigma, exact, strict=True):
        norms = np.full(passes, w @ p**2)
        found = training_capacity(norms, 1, s, examples=7, noise_entropy=0.5, unit="nats")
        assert 7 * information <= found.gradients + 1e-9
        assert found.labels == 3.5


def test_a_training_next_to_its_labels():
    found = training_capacity([3, 15, 0], 1, 1, examples=100, noise_entropy=3.5)
    assert (found.gradients, found.labels) == (pytest.approx(300), 350)
    assert not found.vacuous
    assert training_capacity([3, 15, 3], 1, 1, examples=100, noise_entropy=3.5).vacuous
    assert training_capacity([], 1, 1, examples=100, noise_entropy=3.5).gradients == 0
    laplace = training_capacity([3, 15], 1, 1, "laplace", examples=1, noise_entropy=1, unit="nats")
    gaussian = training_capacity([3, 15], 1, 1, examples=1, noise_entropy=1, unit="nats")
    assert laplace.gradients - gaussian.gradients == pytest.approx(2 * LAPLACE_MORE)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, 10, 0.1), "mean_square_norm is -1"),
        ((1, 0, 0.1), "dimension is 0"),
        ((1, 10, 0), "sigma is 0"),
        ((1, 10, float("nan")), "sigma is nan"),
        ((1, 10, 0.1, "cauchy"), "distribution 'cauchy'"),
        (([1, 2], [10, 10, 10], 0.1), "shapes"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words):
    with pytest.raises(InputError) as caught:
        gradient_capacity(*arguments)
    assert words in str(caught.value)


def test_bad_trainings_are_one_sentence():
    with pytest.raises(InputError, match=r"examples is 0: give"):
        training_capacity([1], 1, 1, examples=0, noise_entropy=1)
    with pytest.raises(InputError, match=r"noise_entropy is -1: give"):
        training_capacity([1], 1, 1, examples=1, noise_entropy=-1)
