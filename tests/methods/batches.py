"""Random batches for methods, and the gradients by what the networks return."""

import torch
from torch import Tensor

from noiselimit.methods import Batch, Method


def random_batch(
    method: Method,
    rows: int,
    examples: int,
    classes: int,
    *,
    seed: int = 0,
    scale: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> Batch:
    """All that the method asks for and no more, so that it cannot come to lean on the rest."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(rows, *shape, generator=generator, dtype=dtype)

    return Batch(
        logits=(scale * normal(examples, classes)).requires_grad_(),
        features=normal(examples, 5).requires_grad_(),
        labels=torch.randint(classes, (rows, examples), generator=generator),
        predictor_logits=(scale * normal(examples, classes)).requires_grad_()
        if method.needs_predictor
        else None,
        draws=normal(examples, classes) if method.draws else None,
        transition=normal(classes, classes).softmax(-1) if method.transition else None,
    )


def gradients(losses: Tensor, batch: Batch) -> dict[str, Tensor]:
    """By the networks' outputs; zero where the losses do not depend on one."""
    leaves = {"logits": batch.logits, "features": batch.features, "predictor": batch.predictor_logits}
    present = {name: leaf for name, leaf in leaves.items() if leaf is not None}
    found = torch.autograd.grad(losses.sum(), list(present.values()), materialize_grads=True)
    return dict(zip(present, found, strict=True))
