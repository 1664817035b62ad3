"""Each row of the stacked convolution and of its gradients equals torch's convolution of that network."""

from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from noiselimit.engine.kernels.convolution import Tile, convolve, geometry, weight_gradient


class Layer(NamedTuple):
    inputs: int
    outputs: int
    kernel: tuple[int, int]
    stride: int
    padding: int
    size: tuple[int, int]


def square(inputs: int, outputs: int, kernel: int, stride: int, padding: int, size: int) -> Layer:
    return Layer(inputs, outputs, (kernel, kernel), stride, padding, (size, size))


LAYERS = [
    square(1, 32, 4, 2, 1, 28),  # the MNIST network
    square(32, 32, 4, 2, 1, 14),
    square(32, 64, 3, 2, 0, 7),
    square(64, 256, 3, 1, 0, 3),
    square(3, 10, 5, 2, 2, 9),  # two blocks of flattened columns, ragged outputs
    square(20, 24, 3, 2, 1, 7),  # channels that no block divides
    square(48, 17, 3, 3, 1, 8),
    square(64, 130, 3, 3, 2, 7),  # two tiles of outputs, a block of columns within one tap
    square(130, 16, 1, 2, 0, 5),  # pixels that no output meets
    square(16, 16, 2, 3, 0, 6),  # a stride beyond the kernel
    Layer(16, 16, (3, 2), 2, 1, (5, 8)),
    Layer(4, 8, (2, 5), 1, 0, (2, 9)),
]
LARGEST = LAYERS[7]  # slow in the interpreter
CASES = [
    *((layer, torch.float32) for layer in LAYERS),
    *((layer, torch.bfloat16) for layer in LAYERS if layer != LARGEST),
]
ROUNDING = 5e-3
"""A little more than the rounding error of bfloat16, at most 2⁻⁸."""


def references(x: Tensor, weight: Tensor, dy: Tensor, layer: Layer) -> tuple[Tensor, Tensor, Tensor]:
    """y, dx, dw by float64 convolutions, network by network."""
    found = []
    for row_x, row_weight, row_dy in zip(x.double(), weight.double(), dy.double(), strict=True):
        leaf_x = row_x.permute(0, 3, 1, 2).detach().requires_grad_()
        leaf_weight = row_weight.detach().requires_grad_()
        y = F.conv2d(leaf_x, leaf_weight, stride=layer.stride, padding=layer.padding)
        dx, dw = torch.autograd.grad(y, (leaf_x, leaf_weight), row_dy.permute(0, 3, 1, 2))
        found.append((y.detach().permute(0, 2, 3, 1), dx.permute(0, 2, 3, 1), dw))
    y, dx, dw = (torch.stack(parts) for parts in zip(*found, strict=True))
    return y, dx, dw


def assert_close(found: Tensor, expected: Tensor, *, rounded: bool = False) -> None:
    """Sums are float32; `rounded` results have the precision of bfloat16."""
    relative, of_largest = (ROUNDING, 1e-3) if rounded else (2e-5, 2e-5)
    limit = of_largest * expected.abs().max().item()
    torch.testing.assert_close(found.double(), expected, rtol=relative, atol=limit)


def check(
    layer: Layer, rows: int, batch: int, device: torch.device, dtype: torch.dtype = torch.float32
) -> None:
    generator = torch.Generator(device).manual_seed(layer.inputs + 7 * batch)
    options = {"generator": generator, "device": device}
    x = torch.randn(rows, batch, *layer.size, layer.inputs, **options).to(dtype).requires_grad_()
    weight = torch.randn(rows, layer.outputs, layer.inputs, *layer.kernel, **options).requires_grad_()
    y = convolve(x, weight, layer.stride, layer.padding)
    dy = torch.randn(y.shape, **options).to(dtype)
    dx, dw = torch.autograd.grad(y, (x, weight), dy)
    assert y.is_contiguous()
    assert (y.dtype, dx.dtype, dw.dtype) == (dtype, dtype, torch.float32)
    expected_y, expected_dx, expected_dw = references(x, weight.to(dtype), dy, layer)
    half = dtype == torch.bfloat16
    assert_close(y, expected_y, rounded=half)
    assert_close(dx, expected_dx, rounded=half)
    # Products of bfloat16 are exact in float32, so that this gradient has all its digits; but torch's own
    # product, which serves a kernel that covers its input, rounds on a CPU.
    covers = geometry(x, weight, layer.stride, layer.padding).covers
    assert_close(dw, expected_dw, rounded=half and covers and device.type == "cpu")


@pytest.mark.parametrize(("layer", "dtype"), CASES, ids=str)
def test_a_layer_equals_the_convolutions_of_its_networks(
    layer: Layer, dtype: torch.dtype, device: torch.device
) -> None:
    rows = 2 if dtype == torch.float32 else 1  # half the time; any layer below has two in bfloat16 as well
    check(layer, rows, batch=2, device=device, dtype=dtype)


@settings(max_examples=12, deadline=None)
@given(
    st.builds(
        Layer,
        st.integers(1, 40),
        st.integers(1, 40),
        st.tuples(st.integers(1, 4), st.integers(1, 4)),
        st.integers(1, 3),
        st.integers(0, 2),
        st.tuples(st.integers(4, 7), st.integers(4, 7)),
    ),
    st.integers(1, 2),
    st.integers(1, 3),
    st.sampled_from([torch.float32, torch.bfloat16]),
)
def test_any_layer_equals_the_convolutions_of_its_networks(
    layer: Layer, rows: int, batch: int, dtype: torch.dtype
) -> None:
    check(layer, rows, batch, torch.device("cuda" if torch.cuda.is_available() else "cpu"), dtype)


def test_weights_may_be_views_of_a_longer_vector(device: torch.device) -> None:
    """As in a cohort: all parameters of a network in one row, channels last in a layer."""
    layer = square(16, 8, 3, 1, 1, 5)
    vector = torch.randn(3, 7 + 8 * 9 * 16 + 5, device=device, requires_grad=True)
    weight = vector[:, 7 : 7 + 8 * 9 * 16].view(3, 8, 3, 3, 16).permute(0, 1, 4, 2, 3)
    x = torch.randn(3, 2, 5, 5, 16, device=device)
    y = convolve(x, weight, 1, 1)
    dy = torch.randn_like(y)
    expected_y, _, expected_dw = references(x, weight, dy, layer)
    assert_close(y, expected_y)
    dw, gradient = torch.autograd.grad(y, (weight, vector), dy)
    assert dw.permute(0, 1, 3, 4, 2).is_contiguous()
    assert_close(gradient[:, 7:-5].view(3, 8, 3, 3, 16).permute(0, 1, 4, 2, 3), expected_dw)
    assert not gradient[:, :7].any()
    assert not gradient[:, -5:].any()


@pytest.mark.parametrize("splits", [1, 2, 3, 5])
def test_the_sum_over_outputs_can_be_split(splits: int, device: torch.device) -> None:
    layer = square(3, 5, 3, 2, 1, 9)
    x = torch.randn(2, 3, 9, 9, 3, device=device)  # 75 outputs: five tiles of 16, the last one ragged
    weight = torch.randn(2, 5, 3, 3, 3, device=device)
    dy = torch.randn(2, 3, 5, 5, 5, device=device)
    found = weight_gradient(x, dy, geometry(x, weight, 2, 1), Tile(16, 16, 16, 4, 1), splits)
    assert_close(found.permute(0, 1, 4, 2, 3), references(x, weight, dy, layer)[2])


@pytest.mark.parametrize("kernel", [3, 5])
def test_only_needed_gradients_are_computed(kernel: int, device: torch.device) -> None:
    x = torch.randn(2, 2, 5, 5, 16, device=device)
    weight = torch.randn(2, 16, 16, kernel, kernel, device=device)
    dy = torch.randn_like(convolve(x, weight, 1, 0))
    _, expected_dx, expected_dw = references(x, weight, dy, square(16, 16, kernel, 1, 0, 5))
    for needed, other, expected in ((x, weight, expected_dx), (weight, x, expected_dw)):
        needed.requires_grad_()
        y = convolve(x, weight, 1, 0)
        y.backward(dy.transpose(1, 2).contiguous().transpose(1, 2))  # strides of its own
        assert_close(needed.grad, expected)
        assert other.grad is None
        needed.requires_grad_(False)
        needed.grad = None
