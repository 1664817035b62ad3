"""Tests for code of others: `check_method` for a training method of your own."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor
from torch.testing import assert_close

from noiselimit.errors import InputError
from noiselimit.methods import Batch, Method
from noiselimit.tasks import CLASSIFICATION, MultiLabel, Regression, Task

ROWS, EXAMPLES, CLASSES = 3, 7, 4
PER_EXAMPLE = ("logits", "features", "labels", "predictor_logits", "draws", "weights")

Hyper = dict[str, Tensor]


def check_method(method: Method) -> None:
    """Check that noiselimit can train with a method; an AssertionError says what is wrong.

    One finite loss per run, with finite gradients, also where probabilities vanish; runs do not touch each
    other, bit by bit, and NaN stays in its run; the order of examples does not matter and their weights do;
    `torch.compile` and `torch.vmap` give the same.

    Parameters
    ----------
    method : Method
        Its hyper-parameters are tried with their defaults, twice as large, and with 0.
    """
    if not isinstance(method, Method):
        raise InputError(f"{method!r} is not a noiselimit.methods.Method: give Method(name, loss).")
    for check in (
        _losses_are_finite,
        _rows_are_independent,
        _nan_stays_in_its_row,
        _order_does_not_matter,
        _weights_count,
        _estimated_transition_is_stochastic,
        _works_under_vmap,
        check_compiled,
    ):
        for task in (
            (CLASSIFICATION,) if method.needs_classes else (CLASSIFICATION, Regression(), MultiLabel())
        ):
            try:
                check(method, task=task)
            except Exception as error:
                what = check.__name__.strip("_").replace("_", " ")
                error.add_note(f"method '{method.name}' fails in: {what}, for {task.name}")
                raise


def random_batch(
    method: Method,
    rows: int = ROWS,
    examples: int = EXAMPLES,
    classes: int = CLASSES,
    *,
    seed: int = 0,
    scale: float = 1.0,
    dtype: torch.dtype = torch.float32,
    task: Task = CLASSIFICATION,
) -> Batch:
    """All that the method asks for and no more, so that it cannot come to lean on the rest."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(rows, *shape, generator=generator, dtype=dtype)

    classes = task.least_outputs if isinstance(task, Regression) else classes
    return Batch(
        logits=(scale * normal(examples, classes)).requires_grad_(),
        features=normal(examples, 5).requires_grad_(),
        labels=torch.randint(classes, (rows, examples), generator=generator)
        if task.has_classes
        else normal(examples)
        if isinstance(task, Regression)
        else (normal(examples, classes) > 0).float(),
        predictor_logits=(scale * normal(examples, classes)).requires_grad_()
        if method.needs_predictor
        else None,
        draws=normal(examples, classes) if method.draws else None,
        transition=normal(classes, classes).softmax(-1) if method.transition else None,
        task=task,
    )


def gradients(losses: Tensor, batch: Batch) -> dict[str, Tensor]:
    """By the networks' outputs; zero where the losses do not depend on one."""
    leaves = {"logits": batch.logits, "features": batch.features, "predictor": batch.predictor_logits}
    present = {name: leaf for name, leaf in leaves.items() if leaf is not None}
    found = torch.autograd.grad(losses.sum(), list(present.values()), materialize_grads=True)
    return dict(zip(present, found, strict=True))


def _changed(batch: Batch, change: Callable[[Tensor], Tensor], names: tuple[str, ...] = PER_EXAMPLE) -> Batch:
    """The batch with the named fields changed, where it has them."""
    given = {name: getattr(batch, name) for name in names}
    changed: dict[str, Any] = {name: change(each) for name, each in given.items() if each is not None}
    return replace(batch, **changed)


def _hyper(method: Method) -> Hyper:
    return {name: torch.linspace(value, 2 * value, ROWS) for name, value in method.hyper.items()}


def _assert_same_gradients(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    for name, gradient in found.items():
        assert_close(gradient, expected[name])


def _losses_are_finite(method: Method, task: Task) -> None:
    """Also where the batch lacks classes, as a short last one always does."""
    for examples, classes in ((EXAMPLES, CLASSES), (1, 2), (2, 100), (64, 100)):
        batch = random_batch(method, ROWS, examples, classes, task=task)
        losses = method.loss(batch, _hyper(method))
        assert losses.shape == (ROWS,), f"the losses have shape {list(losses.shape)} and not [{ROWS}]"
        assert losses.dtype == batch.logits.dtype, f"the losses are {losses.dtype}"
        assert losses.isfinite().all(), "a loss is not finite"
        for name, gradient in gradients(losses, batch).items():
            assert gradient.isfinite().all(), f"a gradient of {name} is not finite"
            learns = (gradient.abs().sum((-1, -2)) > 0).all()
            assert name == "features" or learns, f"the loss does not depend on {name}"
    for scale, factor in ((1e2, 1), (1e4, 1), (1, 0)):
        batch = random_batch(method, scale=scale, task=task)
        losses = method.loss(batch, {name: factor * value for name, value in _hyper(method).items()})
        where = f"with logits × {scale:g} and hyper-parameters × {factor}"
        assert losses.isfinite().all(), f"a loss is not finite {where}"
        found = gradients(losses, batch).values()
        assert all(gradient.isfinite().all() for gradient in found), f"a gradient is not finite {where}"


def _rows_are_independent(method: Method, task: Task) -> None:
    plain, hyper = random_batch(method, task=task), _hyper(method)
    weights = torch.rand(ROWS, EXAMPLES, generator=torch.Generator().manual_seed(1))
    for batch in (plain, replace(plain, weights=weights)):
        together = method.loss(batch, hyper)
        stacked = gradients(together, batch)
        for row in range(ROWS):
            one = slice(row, row + 1)
            own = _changed(batch, lambda tensor, one=one: tensor[one], (*PER_EXAMPLE, "transition"))  # type: ignore[misc]
            alone = method.loss(own, {name: value[one] for name, value in hyper.items()})
            assert torch.equal(alone, together[one]), "the loss of a run depends on the others"
            for name, gradient in gradients(alone, own).items():
                assert torch.equal(stacked[name][one], gradient), f"the gradient of {name} depends on others"


def _nan_stays_in_its_row(method: Method, task: Task) -> None:
    batch = random_batch(method, task=task)
    with torch.no_grad():
        batch.logits[1] = torch.nan
    losses = method.loss(batch, _hyper(method))
    assert losses[1].isnan(), "NaN in the logits must show in the loss"
    assert losses[[0, 2]].isfinite().all(), "NaN in one run spoils others"
    for gradient in gradients(losses, batch).values():
        assert gradient[[0, 2]].isfinite().all(), "NaN in one run spoils the gradients of others"


def _order_does_not_matter(method: Method, task: Task) -> None:
    batch, hyper = random_batch(method, task=task), _hyper(method)
    order = torch.randperm(EXAMPLES, generator=torch.Generator().manual_seed(1))
    other = _changed(batch, lambda tensor: tensor[:, order])
    assert_close(method.loss(other, hyper), method.loss(batch, hyper))


def _weights_count(method: Method, task: Task) -> None:
    """1 changes nothing, 2 counts like a repeated example, and 0 teaches nothing; see `Batch.mean`."""
    batch, hyper = random_batch(method, task=task), _hyper(method)
    plain, ones = method.loss(batch, hyper), torch.ones(ROWS, EXAMPLES)
    same = method.loss(replace(batch, weights=ones), hyper)
    assert_close(same, plain)
    _assert_same_gradients(gradients(same, batch), gradients(method.loss(batch, hyper), batch))

    twice, nothing = ones.clone(), ones.clone()
    twice[:, 2], nothing[:, 2] = 2.0, 0.0
    with_copy = torch.tensor([*range(EXAMPLES), 2])
    repeated = replace(
        _changed(batch, lambda tensor: tensor[:, with_copy]),
        weights=torch.full((ROWS, EXAMPLES + 1), (EXAMPLES + 1) / EXAMPLES),  # one divides by the size
    )
    found, expected = method.loss(replace(batch, weights=twice), hyper), method.loss(repeated, hyper)
    assert_close(found, expected)
    assert not torch.isclose(found, plain).all(), "the loss does not use the weights"
    _assert_same_gradients(gradients(found, batch), gradients(expected, batch))
    for name, gradient in gradients(method.loss(replace(batch, weights=nothing), hyper), batch).items():
        assert (gradient[:, 2] == 0).all(), "an example of weight 0 has a gradient"
        assert name == "features" or gradient[:, 3].any()


def _estimated_transition_is_stochastic(method: Method, task: Task) -> None:
    if method.transition is None:
        return
    probabilities = torch.randn(50, CLASSES, generator=torch.Generator().manual_seed(0)).softmax(-1)
    estimated = method.transition(probabilities)
    assert estimated.shape == (CLASSES, CLASSES)
    assert (estimated >= 0).all()
    assert_close(estimated.sum(-1), torch.ones(CLASSES))
    batch = replace(random_batch(method, task=task), transition=estimated.expand(ROWS, -1, -1))
    assert method.loss(batch, _hyper(method)).isfinite().all()


def _works_under_vmap(method: Method, task: Task) -> None:
    """One row per call, mapped over rows: the way a user with vmapped networks would call it."""
    plain, hyper = random_batch(method, task=task), _hyper(method)
    weights = torch.linspace(0, 2, ROWS * EXAMPLES).reshape(ROWS, EXAMPLES)

    def one_row(tensors: dict[str, Tensor], own: Hyper) -> Tensor:
        inner = Batch(**{name: tensor[None] for name, tensor in tensors.items()}, task=task)
        return method.loss(inner, {name: value[None] for name, value in own.items()})[0]

    for batch in (plain, replace(plain, weights=weights)):
        given = {each.name: getattr(batch, each.name) for each in fields(Batch)}
        given = {name: value for name, value in given.items() if isinstance(value, Tensor)}
        mapped = torch.vmap(one_row, in_dims=(0, 0 if hyper else None))(given, hyper)
        assert_close(mapped, method.loss(batch, hyper))


def check_compiled(method: Method, backend: str = "aot_eager", *, task: Task = CLASSIFICATION) -> None:
    """Check that `torch.compile` changes rounding only."""
    torch.compiler.reset()
    batch, hyper = random_batch(method, task=task), _hyper(method)
    compiled = torch.compile(method.loss, backend=backend, fullgraph=True)
    expected, found = method.loss(batch, hyper), compiled(batch, hyper)
    assert_close(found, expected)
    _assert_same_gradients(gradients(found, batch), gradients(expected, batch))
