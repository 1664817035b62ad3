"""Stacked convolutions with batch-norm and ReLU through our own kernels: channels last, no patches in memory.

The plain twins in `noiselimit.cohort.stacked` compute the same.
"""

from itertools import pairwise
from typing import cast

from torch import Tensor, nn

from noiselimit.cohort.fused_norm import BatchNorm, fused_norm
from noiselimit.cohort.stacked import check_plain


class FusedConvolutions(nn.Module):
    """[K, B, channels, H, W] → [K, B, features]: a chain of convolution, batch-norm and ReLU, flattened.

    Holds the layers under the names they had in the sequence that it replaces; their parameters are stacked.
    """

    is_twin = True

    def __init__(self, sequence: nn.Sequential) -> None:
        super().__init__()
        for name, layer in sequence.named_children():
            self.add_module(name, layer)
        for layer in sequence:
            if isinstance(layer, nn.Conv2d):
                check_plain(layer)

    def forward(self, x: Tensor) -> Tensor:
        from noiselimit.kernels.convolution import convolve, convolve_with_statistics

        x = x.movedim(2, -1).contiguous()  # [K, B, H, W, channels]; of grey pictures a view
        for layer, after in pairwise(self.children()):
            if isinstance(layer, nn.Conv2d):
                stride, padding = layer.stride[0], cast(int, layer.padding[0])
                partial = None
                if self.training:
                    x, partial = convolve_with_statistics(x, layer.weight, stride, padding)
                else:
                    x = convolve(x, layer.weight, stride, padding)
                norm = cast(BatchNorm, after)
                out = fused_norm(norm, x.flatten(1, 3), training=self.training, partial=partial)
                x = out.view(x.shape)
        return x.movedim(-1, 2).flatten(2)


def is_fusible(module: nn.Module) -> bool:
    """Whether the module is a sequence of such convolutions, square in stride and padding, and flattens."""
    if type(module) is not nn.Sequential or len(module) < 4 or type(module[-1]) is not nn.Flatten:
        return False
    layers = list(module)[:-1]
    kinds = [type(layer) for layer in layers]
    if kinds != [nn.Conv2d, nn.BatchNorm2d, nn.ReLU] * (len(kinds) // 3):
        return False
    return all(
        len(set(layer.stride)) == 1 and len(set(layer.padding)) == 1
        for layer in layers
        if isinstance(layer, nn.Conv2d)
    )
