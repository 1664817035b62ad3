"""Residual networks (He et al. 2016) with torchvision's parameter names.

ResNet-18 and -34 are the variants for 32 × 32 images: a 3 × 3 stem with stride 1 and no pooling after it.
ResNet-50 is the standard network for large images, with the stride in the 3 × 3 convolution.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn, relu

from noiselimit.networks.network import Dropout, Network, in_float32


def _norm_relu(norm: nn.Module, x: Tensor, shortcut: Tensor | None = None) -> Tensor:
    """relu(norm(x) + shortcut); the engine's stacked batch norm does all three at once."""
    if type(norm) is not nn.BatchNorm2d:
        fused: Any = norm
        out: Tensor = fused(x, shortcut, relu=True)
        return out
    normal: Tensor = norm(x)
    return relu(normal if shortcut is None else normal + shortcut)


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """Without bias because batch norm follows; the padding keeps the size if the stride is 1."""
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


class Basic(nn.Module):
    """Two 3 × 3 convolutions beside a shortcut: [B, inputs, H, W] → [B, width, H/stride, W/stride]."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _convolution(inputs, width, 3, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _convolution(width, width, 3)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = _shortcut(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = _norm_relu(self.bn1, self.conv1(x))
        shortcut = x if self.downsample is None else self.downsample(x)
        return _norm_relu(self.bn2, self.conv2(out), shortcut)


class Bottleneck(nn.Module):
    """1 × 1, 3 × 3 and 1 × 1 beside a shortcut: [B, inputs, H, W] → [B, 4·width, H/stride, W/stride]."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _convolution(inputs, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _convolution(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = _convolution(width, 4 * width, 1)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = _shortcut(inputs, 4 * width, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = _norm_relu(self.bn1, self.conv1(x))
        out = _norm_relu(self.bn2, self.conv2(out))
        shortcut = x if self.downsample is None else self.downsample(x)
        return _norm_relu(self.bn3, self.conv3(out), shortcut)


def _shortcut(inputs: int, outputs: int, stride: int) -> nn.Sequential | None:
    """A projection if the shape changes, None for the identity."""
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(_convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    """[B, channels, H, W] → logits [B, classes], features [B, 512·expansion].

    `depths` are the numbers of blocks in the four stages; `small` selects the stem for 32 × 32 images.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        classes: int,
        dropout: float = 0.0,
        *,
        block: type[Basic] | type[Bottleneck],
        depths: Sequence[int],
        small: bool,
    ) -> None:
        super().__init__()
        channels = 64
        self.conv1 = _convolution(input_shape[0], channels, 3 if small else 7, 1 if small else 2)
        self.bn1 = nn.BatchNorm2d(channels)
        self.maxpool = None if small else nn.MaxPool2d(3, 2, 1)
        stages = []
        for stage, depth in enumerate(depths):
            width, blocks = 64 * 2**stage, []
            for number in range(depth):
                blocks.append(block(channels, width, 2 if stage > 0 and number == 0 else 1))
                channels = width * block.expansion
            stages.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.dropout = Dropout(dropout) if dropout else None
        self.fc = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = _norm_relu(self.bn1, self.conv1(x))
        if self.maxpool is not None:
            x = self.maxpool(x)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        features = in_float32(x.mean((-2, -1)))  # dimensions from the end: rows may be stacked
        if self.dropout is not None:
            features = self.dropout(features)
        return self.fc(features), features


NETWORKS = (
    Network("resnet-18", partial(ResNet, block=Basic, depths=(2, 2, 2, 2), small=True), smallest_side=8),
    Network("resnet-34", partial(ResNet, block=Basic, depths=(3, 4, 6, 3), small=True), smallest_side=8),
    Network(
        "resnet-50", partial(ResNet, block=Bottleneck, depths=(3, 4, 6, 3), small=False), smallest_side=32
    ),
)
