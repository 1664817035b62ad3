"""CE+GN and CE+LN: the noise is in the gradient, per example, with the scale of LIMIT+S."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.draws import DRAWS
from noiselimit.methods import METHODS, Batch

NAMES = ["ce-gn", "ce-ln"]


@pytest.mark.parametrize("name", NAMES)
@given(
    rows=st.integers(1, 3), examples=st.integers(1, 9), classes=st.integers(2, 6), seed=st.integers(0, 10_000)
)
def test_the_gradient_is_cross_entropys_plus_the_draw_and_the_value_is_cross_entropy(
    name: str, rows: int, examples: int, classes: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    a, draws = random.normal(size=(2, rows, examples, classes)) * 2
    labels, sigma = random.integers(classes, size=(rows, examples)), random.random(rows)
    logits = torch.tensor(a, requires_grad=True)
    batch = Batch(logits, logits, torch.tensor(labels), draws=torch.tensor(draws))
    losses = METHODS[name].loss(batch, {"sigma": torch.tensor(sigma)})
    (gradient,) = torch.autograd.grad(losses.sum(), logits)

    p = np.exp(a) / np.exp(a).sum(-1, keepdims=True)
    y = np.eye(classes)[labels]
    expected = (p - y + sigma[:, None, None] * draws) / examples
    np.testing.assert_allclose(gradient.numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(losses.detach().numpy(), -np.log((p * y).sum(-1)).mean(-1), rtol=1e-10)


@pytest.mark.parametrize(("name", "kurtosis"), [("ce-gn", 3.0), ("ce-ln", 6.0)])
def test_the_noise_has_mean_zero_the_given_spread_and_its_distributions_tails(
    name: str, kurtosis: float
) -> None:
    examples, classes, sigma = 40_000, 5, 0.3
    kind = METHODS[name].draws
    assert kind is not None
    logits = torch.randn(1, examples, classes, generator=torch.Generator().manual_seed(0)).requires_grad_()
    labels = torch.arange(examples)[None] % classes
    draws = DRAWS[kind](torch.tensor([7]), torch.tensor(0), (examples, classes))
    noisy = METHODS[name].loss(Batch(logits, logits, labels, draws=draws), {"sigma": torch.tensor([sigma])})
    plain = METHODS["ce"].loss(Batch(logits, logits, labels), {})
    (with_noise,), (without) = (
        torch.autograd.grad(noisy.sum(), logits),
        torch.autograd.grad(plain.sum(), logits),
    )
    noise = (with_noise - without[0]).double() * examples
    assert abs(float(noise.mean())) < 5 * sigma / (examples * classes) ** 0.5
    assert abs(float(noise.std()) - sigma) < 0.01 * sigma
    assert abs(float((noise / sigma).pow(4).mean()) - kurtosis) < 0.1 * kurtosis


def test_sigma_has_the_default_of_limit_with_sampling() -> None:
    assert {METHODS[name].hyper["sigma"] for name in [*NAMES, "limit-g+s", "limit-l+s"]} == {0.03}
