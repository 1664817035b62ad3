"""What every method must keep; a new one is tested here the day it is written."""

from collections.abc import Callable
from dataclasses import fields, replace

import pytest
import torch
from torch import Tensor

from noiselimit.methods import METHODS, Batch, Method
from tests.methods.batches import gradients, random_batch

ROWS, EXAMPLES, CLASSES = 3, 7, 4
PER_EXAMPLE = ("logits", "features", "labels", "predictor_logits", "draws", "weights")


def batch_of(method: Method, examples: int = EXAMPLES, classes: int = CLASSES, scale: float = 1.0) -> Batch:
    return random_batch(method, ROWS, examples, classes, scale=scale)


def changed(batch: Batch, change: Callable[[Tensor], Tensor], names: tuple[str, ...]) -> Batch:
    """The batch with the named fields changed, where it has them."""
    given = {name: getattr(batch, name) for name in names}
    return replace(batch, **{name: change(tensor) for name, tensor in given.items() if tensor is not None})


def row_of(batch: Batch, row: int) -> Batch:
    return changed(batch, lambda tensor: tensor[row : row + 1], (*PER_EXAMPLE, "transition"))


def hyper_of(method: Method) -> dict[str, Tensor]:
    return {name: torch.linspace(value, 2 * value, ROWS) for name, value in method.hyper.items()}


@pytest.fixture(params=sorted(METHODS))
def method(request: pytest.FixtureRequest) -> Method:
    return METHODS[request.param]


@pytest.mark.parametrize(("examples", "classes"), [(EXAMPLES, CLASSES), (1, 2), (2, 100), (64, 100)])
def test_one_finite_loss_per_row_with_finite_gradients(method: Method, examples: int, classes: int) -> None:
    """Also where the batch lacks classes, as a short last one always does."""
    batch = batch_of(method, examples=examples, classes=classes)
    losses = method.loss(batch, hyper_of(method))
    assert losses.shape == (ROWS,)
    assert losses.dtype == batch.logits.dtype
    assert losses.isfinite().all()
    for name, gradient in gradients(losses, batch).items():
        assert gradient.isfinite().all()
        assert name == "features" or (gradient.abs().sum((-1, -2)) > 0).all()


@pytest.mark.parametrize(("scale", "factor"), [(1e2, 1), (1e4, 1), (1, 0)])
def test_finite_where_probabilities_underflow_or_hyper_parameters_are_zero(
    method: Method, scale: float, factor: float
) -> None:
    batch = batch_of(method, scale=scale)
    losses = method.loss(batch, {name: factor * value for name, value in hyper_of(method).items()})
    assert losses.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients(losses, batch).values())


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_independent_bit_by_bit(method: Method, weighted: bool) -> None:
    batch = batch_of(method)
    if weighted:
        batch = replace(batch, weights=torch.rand(ROWS, EXAMPLES, generator=torch.Generator().manual_seed(1)))
    hyper = hyper_of(method)
    together = method.loss(batch, hyper)
    stacked = gradients(together, batch)
    for row in range(ROWS):
        alone = method.loss(row_of(batch, row), {name: value[row : row + 1] for name, value in hyper.items()})
        assert torch.equal(alone, together[row : row + 1])
        for name, own in gradients(alone, batch).items():
            assert torch.equal(stacked[name][row], own[row])


def test_a_row_of_nan_stays_in_its_row(method: Method) -> None:
    batch = batch_of(method)
    with torch.no_grad():
        batch.logits[1] = torch.nan
    losses = method.loss(batch, hyper_of(method))
    assert losses[1].isnan()
    assert losses[[0, 2]].isfinite().all()
    for gradient in gradients(losses, batch).values():
        assert gradient[[0, 2]].isfinite().all()


def test_the_order_of_examples_does_not_matter(method: Method) -> None:
    batch = batch_of(method)
    order = torch.randperm(EXAMPLES, generator=torch.Generator().manual_seed(1))
    other = changed(batch, lambda tensor: tensor[:, order], PER_EXAMPLE)
    hyper = hyper_of(method)
    torch.testing.assert_close(method.loss(other, hyper), method.loss(batch, hyper))


def test_weights_of_one_change_nothing(method: Method) -> None:
    batch, hyper = batch_of(method), hyper_of(method)
    weighted = replace(batch, weights=torch.ones(ROWS, EXAMPLES))
    plain, same = method.loss(batch, hyper), method.loss(weighted, hyper)
    torch.testing.assert_close(same, plain)
    expected = gradients(plain, batch)
    for name, gradient in gradients(same, batch).items():
        torch.testing.assert_close(gradient, expected[name])


def test_a_doubled_weight_counts_like_a_repeated_example(method: Method) -> None:
    """With the size of the batch, by which one divides, made the same."""
    batch, hyper = batch_of(method), hyper_of(method)
    weights = torch.ones(ROWS, EXAMPLES)
    weights[:, 2] = 2.0
    doubled = replace(batch, weights=weights)
    with_copy = torch.tensor([*range(EXAMPLES), 2])
    repeated = replace(
        changed(batch, lambda tensor: tensor[:, with_copy], PER_EXAMPLE),
        weights=torch.full((ROWS, EXAMPLES + 1), (EXAMPLES + 1) / EXAMPLES),
    )
    found, expected = method.loss(doubled, hyper), method.loss(repeated, hyper)
    torch.testing.assert_close(found, expected)
    assert not torch.isclose(found, method.loss(batch, hyper)).all()
    own = gradients(found, batch)
    for name, gradient in gradients(expected, batch).items():
        torch.testing.assert_close(own[name], gradient)


def test_an_example_of_weight_zero_teaches_nothing(method: Method) -> None:
    batch, hyper = batch_of(method), hyper_of(method)
    weights = torch.ones(ROWS, EXAMPLES)
    weights[:, 2] = 0.0
    for name, gradient in gradients(method.loss(replace(batch, weights=weights), hyper), batch).items():
        assert (gradient[:, 2] == 0).all()
        assert name == "features" or gradient[:, 3].any()


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].transition])
def test_an_estimated_transition_is_a_stochastic_matrix_that_the_loss_can_use(name: str) -> None:
    method = METHODS[name]
    assert method.transition is not None
    probabilities = torch.randn(50, CLASSES, generator=torch.Generator().manual_seed(0)).softmax(-1)
    estimated = method.transition(probabilities)
    assert estimated.shape == (CLASSES, CLASSES)
    assert (estimated >= 0).all()
    torch.testing.assert_close(estimated.sum(-1), torch.ones(CLASSES))
    batch = replace(batch_of(method), transition=estimated.expand(ROWS, -1, -1))
    assert method.loss(batch, hyper_of(method)).isfinite().all()


def test_compiles_with_the_same_result(method: Method) -> None:
    _assert_compiled_equals_eager(method, backend="aot_eager")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["limit-l", "dmi"])
def test_compiles_with_the_default_backend(name: str) -> None:
    _assert_compiled_equals_eager(METHODS[name], backend="inductor")


def _assert_compiled_equals_eager(method: Method, backend: str) -> None:
    torch.compiler.reset()
    batch, hyper = batch_of(method), hyper_of(method)
    compiled = torch.compile(method.loss, backend=backend, fullgraph=True)
    expected, found = method.loss(batch, hyper), compiled(batch, hyper)
    torch.testing.assert_close(found, expected)
    own = gradients(expected, batch)
    for name, gradient in gradients(found, batch).items():
        torch.testing.assert_close(gradient, own[name])


@pytest.mark.parametrize("weighted", [False, True])
def test_works_under_vmap(method: Method, weighted: bool) -> None:
    """One row per call, mapped over rows: the way a user with vmapped networks would call it."""
    batch, hyper = batch_of(method), hyper_of(method)
    if weighted:
        batch = replace(batch, weights=torch.linspace(0, 2, ROWS * EXAMPLES).reshape(ROWS, EXAMPLES))
    names = [field.name for field in fields(Batch)]
    given = {name: getattr(batch, name) for name in names if getattr(batch, name) is not None}

    def one_row(tensors: dict[str, Tensor], own: dict[str, Tensor]) -> Tensor:
        inner = Batch(**{name: tensor[None] for name, tensor in tensors.items()})
        return method.loss(inner, {name: value[None] for name, value in own.items()})[0]

    mapped = torch.vmap(one_row, in_dims=(0, 0 if hyper else None))(given, hyper)
    torch.testing.assert_close(mapped, method.loss(batch, hyper))


def test_the_registry_holds_all_that_the_papers_tables_name() -> None:
    named = ["ce", "ce-gn", "ce-ln", "mae", "gce", "fw", "dmi", "soft-penalty", "limit-ce"]
    named += [f"limit-{letter}{variant}" for letter in "gl" for variant in ("", "+s", "+init")]
    assert set(named) <= set(METHODS)
    starts = {name: method.starts for name, method in METHODS.items() if method.starts}
    children = {"fw": "classifier", "dmi": "classifier"}
    assert starts == children | {"limit-g+init": "predictor", "limit-l+init": "predictor"}
