"""LIMIT against the paper: no label reaches the classifier, and the losses are what Sec. 3.3–3.4 say."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.methods import METHODS, Batch

LIMIT = [name for name in METHODS if name.startswith("limit-")]
SIZES = st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(2, 6))


def make_batch(
    name: str, sizes: tuple[int, int, int], seed: int, dtype: torch.dtype = torch.float64
) -> Batch:
    rows, examples, classes = sizes
    generator = torch.Generator().manual_seed(seed)
    a, r, draws = torch.randn(3, rows, examples, classes, generator=generator, dtype=dtype)
    return Batch(
        logits=a.clone().requires_grad_(),
        features=torch.zeros(rows, examples, 1),
        labels=torch.randint(classes, (rows, examples), generator=generator),
        predictor_logits=r.clone().requires_grad_(),
        draws=draws if METHODS[name].draws else None,
    )


def make_hyper(name: str, rows: int, dtype: torch.dtype = torch.float64) -> dict[str, torch.Tensor]:
    return {h: torch.linspace(0.1, 1.0 + i, rows, dtype=dtype) for i, h in enumerate(METHODS[name].hyper)}


def softmax(logits: np.ndarray) -> np.ndarray:
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


@pytest.mark.parametrize("name", LIMIT)
def test_the_classifiers_gradient_is_bitwise_unchanged_when_labels_change(name: str) -> None:
    batch = make_batch(name, (3, 16, 10), seed=0, dtype=torch.float32)
    hyper = make_hyper(name, 3, torch.float32)
    (before,) = torch.autograd.grad(METHODS[name].loss(batch, hyper).sum(), batch.logits)
    other = Batch(batch.logits, batch.features, (batch.labels + 3) % 10, batch.predictor_logits, batch.draws)
    loss = METHODS[name].loss(other, hyper).sum()
    (after,) = torch.autograd.grad(loss, batch.logits, retain_graph=True)
    assert torch.equal(before, after)
    assert batch.predictor_logits is not None
    (predictor,) = torch.autograd.grad(loss, batch.predictor_logits)
    (unchanged,) = torch.autograd.grad(METHODS[name].loss(batch, hyper).sum(), batch.predictor_logits)
    assert not torch.equal(predictor, unchanged)  # the labels do reach q: the comparison above could fail


@pytest.mark.parametrize("name", LIMIT)
@given(sizes=SIZES, seed=st.integers(0, 10_000))
def test_the_classifier_receives_the_predicted_gradient_over_the_batch_size(
    name: str, sizes: tuple[int, int, int], seed: int
) -> None:
    batch, hyper = make_batch(name, sizes, seed), make_hyper(name, sizes[0])
    (gradient,) = torch.autograd.grad(METHODS[name].loss(batch, hyper).sum(), batch.logits)
    assert batch.predictor_logits is not None
    a, r = batch.logits.detach().numpy(), batch.predictor_logits.detach().numpy()
    expected = softmax(a) - softmax(r)
    if batch.draws is not None:
        expected = expected + hyper["sigma"].numpy()[:, None, None] * batch.draws.numpy()
    np.testing.assert_allclose(gradient.numpy(), expected / sizes[1], atol=1e-12)


@pytest.mark.parametrize("name", LIMIT)
@given(sizes=SIZES, seed=st.integers(0, 10_000))
def test_the_predictors_gradient_is_that_of_its_error_and_the_penalty(
    name: str, sizes: tuple[int, int, int], seed: int
) -> None:
    """Against a separate loss, written with autograd from the paper's formulas, example by example."""
    batch, hyper = make_batch(name, sizes, seed), make_hyper(name, sizes[0])
    assert batch.predictor_logits is not None
    (found,) = torch.autograd.grad(METHODS[name].loss(batch, hyper).sum(), batch.predictor_logits)

    r = batch.predictor_logits.detach().clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for row in range(sizes[0]):
        for example in range(sizes[1]):
            y = torch.zeros(sizes[2], dtype=torch.float64)
            y[batch.labels[row, example]] = 1
            p = torch.softmax(batch.logits[row, example], 0).detach()
            mu = p - torch.softmax(r[row, example], 0)
            distance = mu - (p - y)
            error = {
                "limit-g": (distance**2).sum(),
                "limit-l": distance.abs().sum(),
                "limit-ce": -(p - mu).log()[batch.labels[row, example]],
            }[name.split("+")[0]]
            total = total + (error + hyper["beta"][row] * (mu**2).sum()) / sizes[1]
    (expected,) = torch.autograd.grad(total, r)
    torch.testing.assert_close(found, expected, atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("name", ["limit-g", "limit-l"])
def test_init_differs_from_its_twin_in_where_the_predictor_starts_only(name: str) -> None:
    batch, hyper = make_batch(name, (2, 5, 3), seed=0), make_hyper(name, 2)
    twin, plain = METHODS[f"{name}+init"], METHODS[name]
    assert torch.equal(twin.loss(batch, hyper), plain.loss(batch, hyper))
    assert (twin.hyper, twin.needs_predictor, twin.draws) == (plain.hyper, True, None)
    assert (twin.starts, plain.starts) == ("predictor", None)


@given(sizes=SIZES, seed=st.integers(0, 10_000))
def test_the_gap_is_the_distance_between_predicted_and_true_gradient(
    sizes: tuple[int, int, int], seed: int
) -> None:
    from noiselimit.methods import gap

    batch = make_batch("limit-l", sizes, seed)
    assert batch.predictor_logits is not None
    a, r = batch.logits.detach().numpy(), batch.predictor_logits.detach()
    onehot = np.eye(sizes[2])[batch.labels.numpy()]
    predicted, true = softmax(a) - softmax(r.numpy()), softmax(a) - onehot
    np.testing.assert_allclose(
        gap(r, batch.labels).numpy(), np.linalg.norm(predicted - true, axis=-1), atol=1e-12
    )
    assert (gap(r, batch.labels) <= 2**0.5).all()
