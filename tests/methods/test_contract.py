"""What every method must keep; a new one is tested here the day it is written."""

import pytest
import torch
from torch import Tensor

from noiselimit.errors import InputError
from noiselimit.methods import METHODS, Batch, Method, get_method

ROWS, EXAMPLES, CLASSES, FEATURES = 3, 7, 4, 5


def random_batch(method: Method, seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    logits = normal(ROWS, EXAMPLES, CLASSES).requires_grad_()
    predicted = normal(ROWS, EXAMPLES, CLASSES).requires_grad_() if method.needs_predictor else None
    return Batch(
        logits=logits,
        features=normal(ROWS, EXAMPLES, FEATURES).requires_grad_(),
        labels=torch.randint(CLASSES, (ROWS, EXAMPLES), generator=generator),
        predictor_logits=predicted,
        draws=normal(ROWS, EXAMPLES, CLASSES) if method.draws else None,
        step=torch.tensor(3),
    )


def row_of(batch: Batch, row: int) -> Batch:
    def take(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor[row : row + 1]

    return Batch(
        logits=batch.logits[row : row + 1],
        features=batch.features[row : row + 1],
        labels=batch.labels[row : row + 1],
        predictor_logits=take(batch.predictor_logits),
        draws=take(batch.draws),
        step=batch.step,
    )


def hyper_of(method: Method, rows: int = ROWS) -> dict[str, Tensor]:
    return {name: torch.linspace(value, 2 * value, rows) for name, value in method.hyper.items()}


def leaves(batch: Batch) -> list[Tensor]:
    return [batch.logits] + ([] if batch.predictor_logits is None else [batch.predictor_logits])


@pytest.fixture(params=sorted(METHODS))
def method(request: pytest.FixtureRequest) -> Method:
    return METHODS[request.param]


def test_one_finite_loss_per_row_with_finite_gradients(method: Method) -> None:
    batch = random_batch(method)
    losses = method.loss(batch, hyper_of(method))
    assert losses.shape == (ROWS,)
    assert losses.isfinite().all()
    for gradient in torch.autograd.grad(losses.sum(), leaves(batch)):
        assert gradient.isfinite().all()
        assert gradient.abs().sum() > 0


def test_rows_are_independent_bit_by_bit(method: Method) -> None:
    batch = random_batch(method)
    hyper = hyper_of(method)
    together = method.loss(batch, hyper)
    gradients = torch.autograd.grad(together.sum(), leaves(batch))
    for row in range(ROWS):
        single = row_of(batch, row)
        alone = method.loss(single, {name: value[row : row + 1] for name, value in hyper.items()})
        assert torch.equal(alone, together[row : row + 1])
        for stacked, own in zip(gradients, torch.autograd.grad(alone.sum(), leaves(batch)), strict=True):
            assert torch.equal(stacked[row], own[row])


def test_a_row_of_nan_stays_in_its_row(method: Method) -> None:
    batch = random_batch(method)
    with torch.no_grad():
        batch.logits[1] = torch.nan
    losses = method.loss(batch, hyper_of(method))
    assert losses[1].isnan()
    assert losses[[0, 2]].isfinite().all()
    for gradient in torch.autograd.grad(losses.sum(), leaves(batch)):
        assert gradient[[0, 2]].isfinite().all()


def test_the_order_of_examples_does_not_matter(method: Method) -> None:
    batch = random_batch(method)
    order = torch.randperm(EXAMPLES, generator=torch.Generator().manual_seed(1))

    def shuffled(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor[:, order]

    other = Batch(
        logits=batch.logits[:, order],
        features=batch.features[:, order],
        labels=batch.labels[:, order],
        predictor_logits=shuffled(batch.predictor_logits),
        draws=shuffled(batch.draws),
        step=batch.step,
    )
    hyper = hyper_of(method)
    torch.testing.assert_close(method.loss(other, hyper), method.loss(batch, hyper))


def test_compiles_with_the_same_result(method: Method) -> None:
    _assert_compiled_equals_eager(method, backend="aot_eager")


@pytest.mark.slow
def test_compiles_with_the_default_backend() -> None:
    _assert_compiled_equals_eager(METHODS["limit-l"], backend="inductor")


def _assert_compiled_equals_eager(method: Method, backend: str) -> None:
    torch.compiler.reset()
    batch, hyper = random_batch(method), hyper_of(method)
    compiled = torch.compile(method.loss, backend=backend, fullgraph=True)
    expected, found = method.loss(batch, hyper), compiled(batch, hyper)
    torch.testing.assert_close(found, expected)
    for own, other in zip(
        torch.autograd.grad(expected.sum(), leaves(batch)),
        torch.autograd.grad(found.sum(), leaves(batch)),
        strict=True,
    ):
        torch.testing.assert_close(other, own)


def test_works_under_vmap(method: Method) -> None:
    """One row per call, mapped over rows: the way a user with vmapped networks would call it."""
    batch, hyper = random_batch(method), hyper_of(method)

    def one_row(logits: Tensor, features: Tensor, labels: Tensor, *rest: Tensor) -> Tensor:
        left = list(rest)
        predicted = left.pop(0)[None] if method.needs_predictor else None
        draws = left.pop(0)[None] if method.draws else None
        own = {name: left.pop(0)[None] for name in hyper}
        inner = Batch(logits[None], features[None], labels[None], predicted, draws, batch.step)
        return method.loss(inner, own)[0]

    given = [batch.logits, batch.features, batch.labels]
    given += [tensor for tensor in (batch.predictor_logits, batch.draws) if tensor is not None]
    mapped = torch.vmap(one_row)(*given, *hyper.values())
    torch.testing.assert_close(mapped, method.loss(batch, hyper))


def test_get_method_knows_names_and_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'limit-l'"):
        get_method("limt-l")
