"""Networks through our own kernels compute what the plain layouts do: outputs, gradients and statistics."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from noiselimit.cohort.layouts import Arithmetic, looped, stacked
from noiselimit.cohort.packing import Packing
from noiselimit.networks import NETWORKS
from noiselimit.networks.initial import Role, initial_state
from noiselimit.networks.resnet import Basic, ResNet

ROWS, BATCH = 2, 3


def short_resnet(shape: tuple[int, ...], classes: int) -> ResNet:
    """One block with an identity beside it, one with a projection: every kind of layer that a ResNet has."""
    return ResNet(shape, classes, 0.0, Basic, (1, 1, 0, 0), small=True)


CASES = [
    (stacked, NETWORKS["small-cnn"].build, (3, 8, 8)),
    (stacked, NETWORKS["mnist-cnn"].build, (1, 28, 28)),
    (looped, short_resnet, (3, 6, 6)),
]


@pytest.mark.parametrize(("layout", "build", "shape"), CASES)
@pytest.mark.parametrize("training", [True, False])
def test_equals_the_plain_layout(
    device: torch.device,
    layout: Callable[..., Any],
    build: Callable[..., Any],
    shape: tuple[int, ...],
    training: bool,
) -> None:
    module = build(shape, 4)
    states = [initial_state(module, seed, Role.CLASSIFIER) for seed in range(ROWS)]
    learned = dict(module.named_parameters())
    packing = Packing.of(learned, channels_last=True)
    inputs = torch.randn(ROWS, BATCH, *shape, generator=torch.Generator().manual_seed(1)).to(device)

    def outcome(arithmetic: Arithmetic) -> dict[str, torch.Tensor]:
        weights = packing.pack(states).to(device).requires_grad_()
        buffers = {
            key: torch.stack([state[key] for state in states]).to(device)
            for key in states[0]
            if key not in learned
        }
        logits, features = layout(module, arithmetic)(packing.unpack(weights), buffers, inputs, training)
        (gradient,) = torch.autograd.grad(logits.square().sum(), [weights])
        return {
            "logits": logits.detach(),
            "features": features.detach(),
            **packing.unpack(gradient),
            **buffers,
        }

    plain, fused = outcome(Arithmetic()), outcome(Arithmetic(fused=True))
    for key, wanted in plain.items():
        scale = float(wanted.abs().max()) + 1e-6
        torch.testing.assert_close(
            fused[key], wanted, atol=2e-4 * scale, rtol=1e-3, msg=lambda m, k=key: f"{k}: {m}"
        )
