import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.methods import METHODS, Batch


@given(examples=st.integers(1, 9), classes=st.integers(2, 6), seed=st.integers(0, 10_000))
def test_is_the_absolute_difference_with_the_papers_gradient(examples: int, classes: int, seed: int) -> None:
    """The paper writes f(x)_y (ŷ − y), the gradient of 1 − p_y; ‖p − y‖₁ is twice that."""
    random = np.random.default_rng(seed)
    a, labels = 3 * random.normal(size=(2, examples, classes)), random.integers(classes, size=(2, examples))
    logits = torch.tensor(a, requires_grad=True)
    losses = METHODS["mae"].loss(Batch(logits, logits, torch.tensor(labels)), {})
    (gradient,) = torch.autograd.grad(losses.sum(), logits)

    p = np.exp(a) / np.exp(a).sum(-1, keepdims=True)
    y = np.eye(classes)[labels]
    np.testing.assert_allclose(losses.detach().numpy(), np.abs(p - y).sum(-1).mean(-1), rtol=1e-10)
    expected = 2 * (p * y).sum(-1, keepdims=True) * (p - y) / examples
    np.testing.assert_allclose(gradient.numpy(), expected, atol=1e-12)


def test_the_sum_over_all_labels_is_constant_which_makes_it_robust() -> None:
    """Ghosh et al.: such a loss tolerates uniform noise, whatever the classifier."""
    logits = torch.randn(1, 1, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    total = sum(float(METHODS["mae"].loss(Batch(logits, logits, torch.tensor([[y]])), {})) for y in range(6))
    assert abs(total - 2 * (6 - 1)) < 1e-12
