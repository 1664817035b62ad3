"""The statistics that a convolution returns for batch-norm."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from noiselimit.engine.kernels import normalisation
from noiselimit.engine.kernels.convolution import convolve, convolve_with_statistics
from noiselimit.engine.kernels.normalisation import normalise

OPTIONS = {"eps": 1e-5, "momentum": 0.1}


def statistics(y: Tensor, outputs: int = 128) -> Tensor:
    """float64 [3, R, chunks, C] of y [R, B, H, W, C], in chunks of `outputs` (the tile of float32)."""
    chunks = [chunk.double() for chunk in y.detach().flatten(1, 3).split(outputs, 1)]
    planes = [
        [torch.full_like(chunk[:, 0], chunk.shape[1]) for chunk in chunks],
        [chunk.mean(1) for chunk in chunks],
        [chunk.var(1, correction=0) * chunk.shape[1] for chunk in chunks],
    ]
    return torch.stack([torch.stack(plane, 1) for plane in planes])


def with_statistics(x: Tensor, weight: Tensor, stride: int, padding: int) -> tuple[Tensor, Tensor]:
    y, partial = convolve_with_statistics(x, weight, stride, padding)
    assert partial.dtype == torch.float32
    assert partial.is_contiguous()
    return y, partial


@pytest.mark.parametrize(
    ("batch", "size", "outputs"),
    [(2, 8, 32), (3, 5, 16), (3, 9, 20), (1, 2, 130)],
    ids=["one full tile", "one tile", "a full and a ragged tile", "two tiles of channels, few outputs"],
)
def test_chunks_equal_torch(device: torch.device, batch: int, size: int, outputs: int) -> None:
    generator = torch.Generator().manual_seed(batch)
    x = torch.randn(3, batch, size, size, 5, generator=generator).to(device)
    weight = torch.randn(3, outputs, 5, 3, 3, generator=generator).to(device)
    y, partial = with_statistics(x, weight, 1, 1)
    assert torch.equal(y, convolve(x, weight, 1, 1))
    wanted = statistics(y)
    assert torch.equal(partial[0].double(), wanted[0])
    torch.testing.assert_close(partial.double(), wanted, rtol=1e-5, atol=1e-5)


def large_mean(device: torch.device, step: float) -> tuple[Tensor, Tensor]:
    """x and 1 × 1 weights of convolutions whose 180 results are 4096 plus small multiples of `step`."""
    generator = torch.Generator().manual_seed(4)
    noise = torch.randint(-200, 200, (2, 2, 9, 10), generator=generator) * step
    x = torch.stack([torch.ones_like(noise), noise], -1)
    weight = torch.tensor([4096.0, 1.0]).expand(2, 3, 2)[..., None, None]
    return x.to(device), weight.to(device)


def test_a_small_deviation_from_a_large_mean(device: torch.device) -> None:
    y, partial = with_statistics(*large_mean(device, 2**-11), 1, 0)
    wanted = statistics(y)
    assert (wanted[2] / wanted[0] < 0.01).all()
    # E[y²] − mean² would be off by many variances; the mean itself is good to a few of float32's steps.
    torch.testing.assert_close(partial[1].double(), wanted[1], rtol=2**-21, atol=0.0)
    torch.testing.assert_close(partial[2].double(), wanted[2], rtol=2e-3, atol=0.0)


def test_convolution_with_batch_norm(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(normalisation, "statistics")  # a second reading of y would fail
    generator = torch.Generator().manual_seed(1)
    shapes = {"x": (2, 3, 13, 13, 4), "kernel": (2, 20, 4, 3, 3), "weight": (2, 20), "bias": (2, 20)}
    leaves = {
        name: torch.randn(shape, generator=generator).to(device).requires_grad_()
        for name, shape in shapes.items()
    }
    running = torch.zeros(2, 20, device=device), torch.ones(2, 20, device=device)
    y, partial = with_statistics(leaves["x"], leaves["kernel"], 2, 1)  # 147 outputs: a tile and a bit
    assert not partial.requires_grad
    out = normalise(
        y.flatten(1, 3), leaves["weight"], leaves["bias"], *running, training=True, partial=partial, **OPTIONS
    ).view(y.shape)
    g = torch.randn(out.shape, generator=generator).to(device)
    found = [out, *running, *torch.autograd.grad(out, list(leaves.values()), g)]

    doubles = {name: leaf.detach().double().requires_grad_() for name, leaf in leaves.items()}
    wanted_running = torch.zeros(2, 20).to(device).double(), torch.ones(2, 20).to(device).double()
    rows = [
        F.batch_norm(
            F.conv2d(x.permute(0, 3, 1, 2), kernel, stride=2, padding=1),
            mean, var, weight, bias, True, OPTIONS["momentum"], OPTIONS["eps"],
        ).relu().permute(0, 2, 3, 1)
        for x, kernel, weight, bias, mean, var in zip(*doubles.values(), *wanted_running, strict=True)
    ]  # fmt: skip
    wanted_out = torch.stack(rows)
    gradients = torch.autograd.grad(wanted_out, list(doubles.values()), g.double())
    for value, wanted in zip(found, [wanted_out, *wanted_running, *gradients], strict=True):
        limit = 2e-5 * wanted.abs().max().item()
        torch.testing.assert_close(value.double(), wanted, rtol=2e-5, atol=limit)


def test_more_chunks_than_are_merged_at_once(device: torch.device) -> None:
    chunks = normalisation.MERGED_CHUNKS + 9
    x = torch.randn(2, 3 * chunks, 5, generator=torch.Generator().manual_seed(2)).to(device) + 10
    split = x.view(2, chunks, 3, 5)
    count = torch.full((2, chunks, 5), 3.0, device=device)
    partial = torch.stack([count, split.mean(2), 3 * split.var(2, correction=0)])
    ones = torch.ones(2, 5, device=device)
    found = [
        normalise(x, ones, ones, ones.clone(), ones.clone(), training=True, partial=given, **OPTIONS)
        for given in (partial, None)
    ]
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-5)
