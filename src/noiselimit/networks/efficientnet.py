"""EfficientNet-Lite0 (Tan and Le 2019), for frozen features of images.

The Lite variant has no squeeze-and-excitation and uses ReLU6. It has no entry in NETWORKS: it is not trained.
"""

from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

STAGES = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
"""(expansion, kernel, stride, channels, repeats) of each stage."""


def _convolution(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class InvertedResidual(nn.Module):
    """Expand the channels, filter each one, project back; add the input if the shape stays the same."""

    def __init__(self, inputs: int, outputs: int, expansion: int, kernel: int, stride: int) -> None:
        super().__init__()
        wide = inputs * expansion
        expand = [] if expansion == 1 else [_convolution(inputs, wide), _norm(wide), nn.ReLU6(inplace=True)]
        self.layers = nn.Sequential(
            *expand,
            _convolution(wide, wide, kernel, stride, groups=wide),
            _norm(wide),
            nn.ReLU6(inplace=True),
            _convolution(wide, outputs),
            _norm(outputs),
        )
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layers(x)
        return x + out if self.residual else out


class EfficientNetLite0(nn.Module):
    """Images [B, 3, H, W] with values (pixel − 127) / 128 → logits [B, classes]."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(_convolution(3, 32, 3, 2), _norm(32), nn.ReLU6(inplace=True))
        blocks, inputs = [], 32
        for expansion, kernel, stride, channels, repeats in STAGES:
            for number in range(repeats):
                blocks.append(InvertedResidual(inputs, channels, expansion, kernel, 1 if number else stride))
                inputs = channels
        self.blocks = nn.Sequential(*blocks)
        self.top = nn.Sequential(_convolution(inputs, 1280), _norm(1280), nn.ReLU6(inplace=True))
        self.head = nn.Linear(1280, classes)

    def embed(self, x: Tensor) -> Tensor:
        """Features [B, 1280]."""
        out: Tensor = self.top(self.blocks(self.stem(x)))
        return out.mean((2, 3))

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.embed(x))
        return logits


def load_published(network: EfficientNetLite0, published: Mapping[str, Tensor]) -> None:
    """Load the published weights: they have other names, but the same shapes in the same order."""
    own = network.state_dict()
    if [tensor.shape for tensor in own.values()] != [tensor.shape for tensor in published.values()]:
        raise ValueError("these are not the weights of EfficientNet-Lite0")
    network.load_state_dict(dict(zip(own, published.values(), strict=True)))


def fold_batch_norms(network: EfficientNetLite0) -> EfficientNetLite0:
    """Fold every batch norm into the convolution before it; the network is then for evaluation only."""
    network.eval()
    for part in network.modules():
        if isinstance(part, nn.Sequential):
            layers = list(part)
            for place, layer in enumerate(layers):
                if isinstance(layer, nn.BatchNorm2d):
                    convolution = layers[place - 1]
                    assert isinstance(convolution, nn.Conv2d)
                    part[place - 1], part[place] = fuse_conv_bn_eval(convolution, layer), nn.Identity()
    return network
