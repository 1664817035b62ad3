"""Every method against its formula in the paper, example by example, and what is special about each."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, softmax

from noiselimit.methods import METHODS, Batch, gap
from noiselimit.testing import gradients, random_batch

LIMIT = [name for name in METHODS if name.startswith("limit-")]


class Example:
    """One example of one row, in the paper's letters: logits a and r, last layer's input z, label y."""

    def __init__(self, batch: Batch, hyper: dict[str, Tensor], row: int, index: int) -> None:
        def own(tensor: Tensor | None) -> Tensor:
            return torch.zeros(()) if tensor is None else tensor[row, index]

        self.a, self.r, self.z = own(batch.logits), own(batch.predictor_logits), own(batch.features)
        self.draw, self.label = own(batch.draws), int(batch.labels[row, index])
        self.p = softmax(self.a, 0)
        self.y = torch.eye(len(self.a), dtype=torch.float64)[self.label]
        self.hyper = {name: value[row] for name, value in hyper.items()}
        self.transition = None if batch.transition is None else batch.transition[row]


def ce(e: Example) -> Tensor:
    return -e.p.log()[e.label]


def ce_noise(e: Example) -> Tensor:
    noise = e.hyper["sigma"] * e.draw @ e.a
    return ce(e) + noise - noise.detach()


def forward(e: Example) -> Tensor:
    return -(e.transition.T @ e.p)[e.label].log()


def soft_penalty(e: Example) -> Tensor:
    true, predicted = torch.outer(e.p - e.y, e.z), torch.outer(e.p - softmax(e.r, 0), e.z)
    distance, norm = (true - predicted).square().sum(), predicted.square().sum()
    return ce(e) + e.hyper["penalty"] * distance + e.hyper["beta"] * norm


def limit(error: Callable[[Tensor, Example], Tensor]) -> Callable[[Example], Tensor]:
    def loss(e: Example) -> Tensor:
        p = e.p.detach()
        mu = p - softmax(e.r, 0)
        g = mu.detach() + (e.hyper["sigma"] * e.draw if "sigma" in e.hyper else 0)
        return g @ e.a + error(mu - (p - e.y), e) + e.hyper["beta"] * mu.square().sum()

    return loss


limit_g = limit(lambda distance, e: distance.square().sum())
limit_l = limit(lambda distance, e: distance.abs().sum())
REFERENCES: dict[str, Callable[[Example], Tensor]] = {
    "ce": ce,
    "ce-gn": ce_noise,
    "ce-ln": ce_noise,
    "mae": lambda e: (e.p - e.y).abs().sum(),
    "huber": lambda e: torch.nn.functional.huber_loss(
        e.p, e.y, reduction="sum", delta=float(e.hyper["delta"])
    ),
    "gce": lambda e: (1 - e.p[e.label] ** e.hyper["q"]) / e.hyper["q"],
    "fw": forward,
    "soft-penalty": soft_penalty,
    "limit-ce": limit(lambda distance, e: -softmax(e.r, 0).log()[e.label]),
    **dict.fromkeys(["limit-g", "limit-g+s", "limit-g+init"], limit_g),
    **dict.fromkeys(["limit-l", "limit-l+s", "limit-l+init"], limit_l),
}


def make_batch(
    name: str, rows: int, examples: int, classes: int, seed: int = 0
) -> tuple[Batch, dict[str, Tensor]]:
    batch = random_batch(METHODS[name], rows, examples, classes, seed=seed, dtype=torch.float64)
    return batch, {name: torch.linspace(0.1, 1, rows).double() for name in METHODS[name].hyper}


def test_every_method_has_a_reference() -> None:
    assert set(REFERENCES) == set(METHODS) - {"dmi"}  # which has no loss per example, and its own file


@pytest.mark.parametrize("name", REFERENCES)
@given(
    rows=st.integers(1, 3), examples=st.integers(1, 5), classes=st.integers(2, 5), seed=st.integers(0, 10_000)
)
def test_loss_and_gradients_equal_the_formula(
    name: str, rows: int, examples: int, classes: int, seed: int
) -> None:
    batch, hyper = make_batch(name, rows, examples, classes, seed)
    found = METHODS[name].loss(batch, hyper)
    reference = REFERENCES[name]
    expected = torch.stack(
        [sum(reference(Example(batch, hyper, k, b)) for b in range(examples)) / examples for k in range(rows)]
    )
    torch.testing.assert_close(found, expected)
    own, other = gradients(found, batch), gradients(expected, batch)
    for leaf in own:
        torch.testing.assert_close(own[leaf], other[leaf], atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("name", LIMIT)
def test_labels_do_not_reach_the_classifier(name: str) -> None:
    """Bitwise: the classifier's gradient is the same whatever the labels; the predictor's is not."""
    batch, hyper = make_batch(name, 3, 16, 10)
    other = Batch(batch.logits, batch.features, (batch.labels + 3) % 10, batch.predictor_logits, batch.draws)
    before, after = (gradients(METHODS[name].loss(each, hyper), each) for each in (batch, other))
    assert torch.equal(before["logits"], after["logits"])
    assert not torch.equal(before["predictor"], after["predictor"])


@given(examples=st.integers(1, 9), classes=st.integers(2, 6), seed=st.integers(0, 10_000))
def test_gap_is_the_distance_between_predicted_and_true_gradient(
    examples: int, classes: int, seed: int
) -> None:
    batch, _ = make_batch("limit-l", 2, examples, classes, seed)
    p, s = (softmax(logits.detach(), -1) for logits in (batch.logits, batch.predictor_logits))
    y = torch.eye(classes, dtype=torch.float64)[batch.labels]
    found = gap(batch.predictor_logits.detach(), batch.labels)
    torch.testing.assert_close(found, ((p - s) - (p - y)).norm(dim=-1))
    assert (found <= 2**0.5).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("q", "name", "factor"), [(0.0, "ce", 1), (1e-20, "ce", 1), (1e-7, "ce", 1), (1.0, "mae", 0.5)]
)
def test_gce_tends_to_cross_entropy_and_mae(q: float, name: str, factor: float, dtype: torch.dtype) -> None:
    batch, _ = make_batch("ce", 2, 6, 4)
    logits = (3 * batch.logits.detach()).to(dtype).requires_grad_()
    batch = Batch(logits, logits, batch.labels)
    found = METHODS["gce"].loss(batch, {"q": torch.full((2,), q, dtype=dtype)})
    expected = factor * METHODS[name].loss(batch, {})
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    (own,), (other,) = (torch.autograd.grad(losses.sum(), logits) for losses in (found, expected))
    torch.testing.assert_close(own, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("q", [0.0, 0.01, 0.7, 1.0])
def test_gce_is_finite_where_the_probability_vanishes(q: float) -> None:
    logits = torch.tensor([[[300.0, 0.0, -300.0]]]).requires_grad_()
    loss = METHODS["gce"].loss(Batch(logits, logits, torch.tensor([[2]])), {"q": torch.tensor([q])})
    assert float(loss.detach()) == pytest.approx(-np.expm1(-600 * q) / q if q else 600.0, rel=1e-5)
    assert torch.autograd.grad(loss.sum(), logits)[0].isfinite().all()


def test_cross_entropy_with_probabilities_has_the_gradient_of_limit() -> None:
    batch, hyper = make_batch("ce", 2, 6, 4)
    s = torch.rand(batch.logits.shape, dtype=torch.float64).softmax(-1)
    found = gradients(METHODS["ce"].loss(replace(batch, labels=s), hyper), batch)["logits"]
    torch.testing.assert_close(found, (batch.logits.softmax(-1) - s) / 6)
