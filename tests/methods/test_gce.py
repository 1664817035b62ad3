import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.methods import METHODS, Batch


def values_and_gradient(name: str, logits: torch.Tensor, labels: torch.Tensor, q: float | None = None):
    logits = logits.clone().requires_grad_()
    hyper = {} if q is None else {"q": torch.full(logits.shape[:1], q, dtype=logits.dtype)}
    losses = METHODS[name].loss(Batch(logits, logits, labels), hyper)
    return losses.detach(), torch.autograd.grad(losses.sum(), logits)[0]


def example(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(2, 6, 4, generator=generator, dtype=torch.float64).to(dtype)
    return logits, torch.randint(4, (2, 6), generator=generator)


@given(examples=st.integers(1, 9), classes=st.integers(2, 6), seed=st.integers(0, 10_000))
def test_equals_its_formula(examples: int, classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a, labels = 3 * random.normal(size=(2, examples, classes)), random.integers(classes, size=(2, examples))
    q = random.uniform(0.05, 1, size=2)
    logits = torch.tensor(a, requires_grad=True)
    batch = Batch(logits, logits, torch.tensor(labels))
    losses = METHODS["gce"].loss(batch, {"q": torch.tensor(q)})
    (gradient,) = torch.autograd.grad(losses.sum(), logits)

    p = np.exp(a) / np.exp(a).sum(-1, keepdims=True)
    y = np.eye(classes)[labels]
    p_y = (p * y).sum(-1)
    expected = ((1 - p_y ** q[:, None]) / q[:, None]).mean(-1)
    np.testing.assert_allclose(losses.detach().numpy(), expected, rtol=1e-9)
    slope = (p_y ** q[:, None])[..., None] * (p - y) / examples
    np.testing.assert_allclose(gradient.numpy(), slope, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("q", [0.0, 1e-30, 1e-20, 1e-10, 1e-7])
def test_tends_to_cross_entropy_as_q_tends_to_zero(q: float, dtype: torch.dtype) -> None:
    logits, labels = example(dtype)
    for found, expected in zip(
        values_and_gradient("gce", logits, labels, q), values_and_gradient("ce", logits, labels), strict=True
    ):
        torch.testing.assert_close(found, expected, atol=1e-5 if q else 0, rtol=1e-5)


def test_is_half_of_mae_at_q_one() -> None:
    logits, labels = example()
    for found, whole in zip(
        values_and_gradient("gce", logits, labels, 1.0),
        values_and_gradient("mae", logits, labels),
        strict=True,
    ):
        torch.testing.assert_close(found, whole / 2)


@pytest.mark.parametrize("q", [0.0, 0.01, 0.7, 1.0])
def test_a_label_of_vanishing_probability_has_a_finite_loss_and_gradient(q: float) -> None:
    logits = torch.tensor([[[300.0, 0.0, -300.0]]])
    loss, gradient = values_and_gradient("gce", logits, torch.tensor([[2]]), q)
    expected = -np.expm1(-600 * q) / q if q else 600.0
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert gradient.isfinite().all()
