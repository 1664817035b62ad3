"""Residual networks against the published ones: parameters, shapes and names; and that they learn."""

import pytest
import torch
from torch import nn

from noiselimit.networks import NETWORKS
from noiselimit.networks.resnet import ResNet

STEM_DIFFERENCE = (7 * 7 - 3 * 3) * 3 * 64  # weights that the 3 × 3 stem saves


def torchvision_names(depths: list[int], convolutions: int) -> set[str]:
    pairs = [("conv1", "bn1")]
    for stage, depth in enumerate(depths, 1):
        for block in range(depth):
            prefix = f"layer{stage}.{block}"
            pairs += [(f"{prefix}.conv{i}", f"{prefix}.bn{i}") for i in range(1, convolutions + 1)]
        if stage > 1 or convolutions == 3:
            pairs.append((f"layer{stage}.0.downsample.0", f"layer{stage}.0.downsample.1"))
    statistics = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    return {"fc.weight", "fc.bias"} | {
        name
        for convolution, norm in pairs
        for name in (f"{convolution}.weight", *(f"{norm}.{part}" for part in statistics))
    }


@pytest.mark.parametrize(
    ("name", "depths", "convolutions", "published"),
    [
        ("resnet-18", [2, 2, 2, 2], 2, 11_689_512 - STEM_DIFFERENCE),  # torchvision, ImageNet
        ("resnet-34", [3, 4, 6, 3], 2, 21_797_672 - STEM_DIFFERENCE),
        ("resnet-50", [3, 4, 6, 3], 3, 25_557_032),
    ],
)
def test_names_and_number_of_parameters_are_torchvisions(
    name: str, depths: list[int], convolutions: int, published: int
) -> None:
    with torch.device("meta"):
        module = NETWORKS[name].build((3, 32, 32), 1000)
    assert set(module.state_dict()) == torchvision_names(depths, convolutions)
    assert sum(parameter.numel() for parameter in module.parameters()) == published


def test_a_block_adds_its_shortcut() -> None:
    """With its last batch-norm at zero, a block without projection passes its (positive) inputs through."""
    module = NETWORKS["resnet-18"].build((1, 8, 8), 3)
    assert isinstance(module, ResNet)
    block = module.layer1[1]
    assert isinstance(block.bn2, nn.BatchNorm2d)
    nn.init.zeros_(block.bn2.weight)
    inputs = torch.rand(2, 64, 4, 4)
    torch.testing.assert_close(block(inputs), inputs)
