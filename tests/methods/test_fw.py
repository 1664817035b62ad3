"""FW: the forward loss at its limits, and the estimate on a problem whose matrix is known."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.methods import METHODS, Batch
from noiselimit.methods.fw import estimate_transition, loss


def random_transition(random: np.random.Generator, classes: int) -> np.ndarray:
    """Rows that keep most of each class."""
    noise = random.dirichlet(np.ones(classes), size=classes)
    return 0.6 * np.eye(classes) + 0.4 * noise


@pytest.mark.parametrize("scale", [1.0, 200.0])
def test_without_noise_it_is_cross_entropy(scale: float) -> None:
    logits = (scale * torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))).requires_grad_()
    labels = torch.tensor([[0, 1, 2, 3, 0]])
    found = loss(Batch(logits, logits, labels, transition=torch.eye(4)[None]), {})
    expected = METHODS["ce"].loss(Batch(logits, logits, labels), {})
    torch.testing.assert_close(found, expected)
    (own,), (other,) = (torch.autograd.grad(losses.sum(), logits) for losses in (found, expected))
    torch.testing.assert_close(own, other)


def test_a_label_that_the_matrix_excludes_has_no_gradient() -> None:
    logits = torch.randn(1, 2, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    transition = torch.tensor([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]])
    losses = loss(Batch(logits, logits, torch.tensor([[2, 1]]), transition=transition), {})
    (gradient,) = torch.autograd.grad(losses.sum(), logits)
    assert losses.isfinite().all()
    assert gradient[0, 0].abs().max() < 1e-6
    assert gradient[0, 1].abs().max() > 0.01


@pytest.mark.parametrize("classes", [2, 3, 10, 30, 100])
def test_a_known_matrix_is_found_from_the_noisy_posteriors(classes: int) -> None:
    """Most examples are sure; p(given | x) = Tᵀ p(clean | x), as a perfect CE run would have it."""
    random = np.random.default_rng(classes)
    transition = random_transition(random, classes)
    owner = np.arange(3_000) % classes
    doubt = np.where(random.random(3_000) < 0.8, 0.0, 0.5 * random.random(3_000))[:, None]
    clean = (1 - doubt) * np.eye(classes)[owner] + doubt * random.dirichlet(np.ones(classes), size=3_000)
    found = estimate_transition(torch.tensor(clean @ transition))
    np.testing.assert_allclose(found.numpy(), transition, atol=0.02)


@given(examples=st.integers(2, 400), classes=st.integers(2, 5), seed=st.integers(0, 10_000))
def test_the_anchors_are_those_of_the_original_rule(examples: int, classes: int, seed: int) -> None:
    """The largest below NumPy's 97th percentile of method "higher", as Patrini et al. take it."""
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(classes), size=examples)
    rows = []
    for i in range(classes):
        column = probabilities[:, i].copy()
        column[column >= np.percentile(column, 97, method="higher")] = 0.0
        rows.append(probabilities[column.argmax()])
    np.testing.assert_allclose(estimate_transition(torch.tensor(probabilities)).numpy(), rows, rtol=1e-12)


@pytest.mark.parametrize("examples", [1, 2, 40])
def test_a_class_that_is_never_predicted_still_has_a_row(examples: int) -> None:
    probabilities = torch.tensor([[0.4, 0.6, 0.0]] * examples)
    found = estimate_transition(probabilities)
    torch.testing.assert_close(found, torch.tensor([[0.4, 0.6, 0.0]] * 3))
