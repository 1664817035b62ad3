"""Layouts with our kernels compute what they compute without: outputs, gradients and statistics."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from noiselimit.engine.block_networks import Packing
from noiselimit.engine.layouts import looped, stacked
from noiselimit.networks import NETWORKS
from noiselimit.networks.architecture import Role, initial_state
from noiselimit.networks.resnet import Basic, ResNet

ROWS, BATCH = 2, 3


def short_resnet(shape: tuple[int, ...], classes: int) -> ResNet:
    """One block with an identity shortcut, one with a projection."""
    return ResNet(shape, classes, block=Basic, depths=(1, 1, 0, 0), small=True)


SMALL_CNN = (stacked, NETWORKS["small-cnn"].build, (3, 8, 8))
MNIST_CNN = (stacked, NETWORKS["mnist-cnn"].build, (1, 28, 28))
RESNET = (looped, short_resnet, (3, 6, 6))
Case = tuple[Callable[..., Any], Callable[..., Any], tuple[int, ...]]


def outcome(
    case: Case, device: torch.device, dtype: torch.dtype, *, fused: bool, training: bool
) -> dict[str, Tensor]:
    """Outputs, the gradient of every parameter of Σ logits², and buffers, by name."""
    layout, build, shape = case
    module = build(shape, 4)
    states = [initial_state(module, seed, Role.CLASSIFIER) for seed in range(ROWS)]
    learned = dict(module.named_parameters())
    packing = Packing(learned, channels_last=True)
    inputs = torch.randn(ROWS, BATCH, *shape, generator=torch.Generator().manual_seed(1)).to(device)
    weights = packing.pack(states).to(device).requires_grad_()
    buffers = {
        key: torch.stack([state[key] for state in states]).to(device)
        for key in states[0]
        if key not in learned
    }
    logits, features = layout(module, dtype, fused=fused)(packing.unpack(weights), buffers, inputs, training)
    (gradient,) = torch.autograd.grad(logits.square().sum(), [weights])
    gradients = {f"gradient of {key}": value for key, value in packing.unpack(gradient).items()}
    return {"logits": logits.detach(), "features": features.detach(), **gradients, **buffers}


@pytest.mark.parametrize("case", [SMALL_CNN, MNIST_CNN, RESNET])
@pytest.mark.parametrize("training", [True, False])
def test_equals_the_plain_layout(device: torch.device, case: Case, training: bool) -> None:
    plain, fused = (
        outcome(case, device, torch.float32, fused=fused, training=training) for fused in (False, True)
    )
    for key, wanted in plain.items():
        scale = float(wanted.abs().max()) + 1e-6
        torch.testing.assert_close(
            fused[key], wanted, atol=2e-4 * scale, rtol=1e-3, msg=lambda m, k=key: f"{k}: {m}"
        )


@pytest.mark.parametrize("case", [MNIST_CNN, RESNET])
def test_equals_the_plain_layout_in_bfloat16_too(device: torch.device, case: Case) -> None:
    """Compared by norm: rounding switches some ReLUs, and one in a hundred moves a gradient by a tenth."""
    plain, fused = (
        outcome(case, device, torch.bfloat16, fused=fused, training=True) for fused in (False, True)
    )
    for key, wanted in plain.items():
        assert fused[key].dtype == wanted.dtype, key
        error = float((fused[key] - wanted).double().norm() / wanted.double().norm())
        assert error < (0.2 if key.startswith("gradient") else 0.01), key
