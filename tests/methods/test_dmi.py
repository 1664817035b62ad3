"""DMI: its definition, its one property, and the batches on which the definition breaks down."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from noiselimit.methods import Batch
from noiselimit.methods.dmi import RIDGE, joint, loss


def confident_batch(rows: int, examples: int, classes: int, seed: int) -> Batch:
    """Every class occurs, and the logits favour the label, as after the CE run that DMI starts from."""
    generator = torch.Generator().manual_seed(seed)
    labels = (torch.arange(examples) % classes).expand(rows, -1)
    logits = torch.randn(rows, examples, classes, generator=generator, dtype=torch.float64)
    logits = logits + 4 * (labels[..., None] == torch.arange(classes))
    return Batch(logits.requires_grad_(), logits, labels)


@given(rows=st.integers(1, 3), classes=st.integers(2, 6), more=st.integers(0, 9), seed=st.integers(0, 10_000))
def test_is_minus_the_log_determinant_of_the_joint(rows: int, classes: int, more: int, seed: int) -> None:
    batch = confident_batch(rows, 2 * classes + more, classes, seed)
    losses = loss(batch, {})
    (gradient,) = torch.autograd.grad(losses.sum(), batch.logits)

    a = batch.logits.detach().clone().requires_grad_()
    expected = []
    for k in range(rows):
        u = torch.zeros(classes, classes, dtype=torch.float64)
        for b in range(a.shape[1]):
            y = torch.eye(classes, dtype=torch.float64)[batch.labels[k, b]]
            u = u + torch.outer(y, torch.softmax(a[k, b], 0)) / a.shape[1]
        expected.append(-torch.log(torch.abs(torch.det(u))))
    torch.testing.assert_close(losses, torch.stack(expected), atol=1e-3, rtol=0)
    (other,) = torch.autograd.grad(sum(expected), a)
    torch.testing.assert_close(gradient, other, atol=1e-3 * float(other.abs().max()), rtol=0)


@given(classes=st.integers(2, 5), seed=st.integers(0, 10_000))
def test_ridge_is_added_to_each_squared_singular_value(classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, 6, classes, generator=generator, dtype=torch.float64)
    batch = Batch(logits, logits, torch.randint(classes, (1, 6), generator=generator))
    values = np.linalg.svd(joint(batch)[0].numpy(), compute_uv=False)
    expected = -0.5 * np.log(values**2 + (RIDGE / classes) ** 2).sum()
    assert float(loss(batch, {})) == pytest.approx(expected, rel=1e-6)


def population_loss(classifier: Tensor, clean: Tensor, prior: Tensor, transition: Tensor) -> Tensor:
    """DMI over the whole distribution: every (x, given label) once, weighted by its probability.

    `classifier` [X, C] logits, `clean` [X, C] posteriors, `prior` [X].
    """
    inputs, classes = clean.shape
    probability = prior[:, None] * (clean @ transition)  # [X, C] of x and given label
    logits = classifier.repeat_interleave(classes, 0)[None]
    weights = probability.reshape(1, -1) * inputs * classes
    return loss(Batch(logits, logits, torch.arange(classes).repeat(inputs)[None], weights=weights), {})[0]


@given(classes=st.integers(2, 5), seed=st.integers(0, 10_000))
def test_noise_by_class_adds_a_constant_whatever_the_classifier(classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    clean = torch.tensor(
        0.8 * np.eye(classes).repeat(2, 0) + 0.2 * random.dirichlet(np.ones(classes), 2 * classes)
    )
    prior = torch.tensor(random.dirichlet(np.full(2 * classes, 20.0)))
    transition = torch.tensor(0.7 * np.eye(classes) + 0.3 * random.dirichlet(np.ones(classes), classes))
    without_noise = torch.eye(classes, dtype=torch.float64)
    for strength in (1.0, 3.0):
        classifier = strength * clean.log() + torch.tensor(0.2 * random.normal(size=clean.shape))
        noisy = population_loss(classifier, clean, prior, transition)
        difference = noisy - population_loss(classifier, clean, prior, without_noise)
        constant = -np.log(np.abs(np.linalg.det(transition.numpy())))
        assert float(difference) == pytest.approx(constant, abs=2e-3)  # the ridge contributes


@pytest.mark.parametrize(("examples", "classes"), [(2, 100), (256, 100), (3, 10), (1, 2)])
def test_a_batch_that_lacks_classes_still_teaches(examples: int, classes: int) -> None:
    """A step against the gradient lowers the loss."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1, examples, classes, generator=generator).requires_grad_()
    labels = torch.randint(classes, (1, examples), generator=generator)
    assert len(labels.unique()) < classes
    before = loss(Batch(logits, logits, labels), {})
    (gradient,) = torch.autograd.grad(before.sum(), logits)
    assert gradient.isfinite().all()
    assert (gradient.abs().sum(-1) > 1e-4).all()
    step = (logits - 0.1 * gradient / gradient.abs().max()).detach()
    assert before - loss(Batch(step, step, labels), {}) > 0.01


def test_single_precision_logits_lose_no_digits_near_the_ridge() -> None:
    """Squares of singular values at the ridge are below what float32 resolves beside 1."""
    logits = 12 * torch.eye(10)[None]
    logits[0, 1] = logits[0, 0] + 1e-3 * torch.arange(10)  # labels 0 and 1 get nearly the same prediction
    labels = torch.arange(10)[None]
    single, double = logits.requires_grad_(), logits.detach().double().requires_grad_()
    losses = [loss(Batch(a, a, labels), {}) for a in (single, double)]
    torch.testing.assert_close(losses[0].double(), losses[1], atol=1e-5, rtol=1e-6)
    (own,), (other,) = (
        torch.autograd.grad(value.sum(), a) for value, a in zip(losses, (single, double), strict=True)
    )
    torch.testing.assert_close(own.double(), other, atol=1e-5, rtol=1e-5)
