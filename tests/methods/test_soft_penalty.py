"""The soft penalty against eq. penalize-final, outer products and all."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from noiselimit.methods import METHODS, Batch

METHOD = METHODS["soft-penalty"]


def leaves(rows: int, examples: int, classes: int, features: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(rows, examples, classes), (rows, examples, features), (rows, examples, classes)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


@given(
    rows=st.integers(1, 3),
    examples=st.integers(1, 5),
    classes=st.integers(2, 5),
    features=st.integers(1, 4),
    seed=st.integers(0, 10_000),
)
def test_equals_the_formula_example_by_example(
    rows: int, examples: int, classes: int, features: int, seed: int
) -> None:
    given_leaves = leaves(rows, examples, classes, features, seed)
    a, z, r = given_leaves
    labels = torch.randint(classes, (rows, examples), generator=torch.Generator().manual_seed(seed + 1))
    hyper = {"penalty": torch.linspace(0.1, 2, rows).double(), "beta": torch.linspace(3, 0.5, rows).double()}
    found = METHOD.loss(Batch(a, z, labels, predictor_logits=r), hyper)

    expected = []
    for k in range(rows):
        total = torch.zeros((), dtype=torch.float64)
        for b in range(examples):
            y = torch.eye(classes, dtype=torch.float64)[labels[k, b]]
            p, s = torch.softmax(a[k, b], 0), torch.softmax(r[k, b], 0)
            true, predicted = torch.outer(p - y, z[k, b]), torch.outer(p - s, z[k, b])
            total = total - (y * p.log()).sum()
            total = total + hyper["penalty"][k] * ((true - predicted) ** 2).sum()
            total = total + hyper["beta"][k] * (predicted**2).sum()
        expected.append(total / examples)
    torch.testing.assert_close(found, torch.stack(expected))
    for own, other in zip(
        torch.autograd.grad(found.sum(), given_leaves),
        torch.autograd.grad(sum(expected), given_leaves),
        strict=True,
    ):
        torch.testing.assert_close(own, other)


def reached(penalty: float, beta: float) -> list[bool]:
    """Whether the loss less cross-entropy has a gradient by (logits, features, predictor logits)."""
    given_leaves = leaves(1, 4, 3, 2, seed=0)
    a, z, r = given_leaves
    hyper = {"penalty": torch.tensor([penalty]).double(), "beta": torch.tensor([beta]).double()}
    batch = Batch(a, z, torch.tensor([[0, 1, 2, 0]]), predictor_logits=r)
    terms = METHOD.loss(batch, hyper) - METHODS["ce"].loss(batch, {})
    return [bool((g.abs() > 1e-9).any()) for g in torch.autograd.grad(terms.sum(), given_leaves)]


def test_which_term_trains_what() -> None:
    assert reached(penalty=1.0, beta=0.0) == [False, True, True]  # the classifier feels it through ‖z‖ only
    assert reached(penalty=0.0, beta=1.0) == [True, True, True]
    assert reached(penalty=0.0, beta=0.0) == [False, False, False]


def test_it_asks_for_a_predictor_and_a_last_layer_without_bias() -> None:
    assert METHOD.needs_predictor
    assert not METHOD.head_bias
    assert all(method.head_bias for name, method in METHODS.items() if name != "soft-penalty")
