"""The fused batch-norm equals torch's in double precision, in every row."""

from dataclasses import dataclass
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import batch_norm

from noiselimit.engine.kernels import normalisation
from noiselimit.engine.kernels.normalisation import normalise

EPS, MOMENTUM = 1e-5, 0.1
CLOSE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}


@dataclass
class Case:
    """Inputs, and the gradient of the output."""

    x: Tensor
    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    shortcut: Tensor | None
    g: Tensor


def make(
    device: torch.device, rows: int, positions: int, channels: int, *, shortcut: bool, seed: int = 0
) -> Case:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).to(device)

    shape = (rows, positions, channels)
    # Nearly equal positions would be ill-conditioned.
    alternating = (3.0 - 6.0 * (torch.arange(positions, device=device) % 2))[:, None]
    return Case(
        x=normal(*shape) + normal(rows, 1, channels) + alternating,
        weight=normal(rows, channels),
        bias=normal(rows, channels),
        running_mean=normal(rows, channels),
        running_var=normal(rows, channels).exp(),
        shortcut=normal(*shape) if shortcut else None,
        g=normal(*shape),
    )


def run(case: Case, dtype: torch.dtype | None = None, *, training: bool, relu: bool) -> dict[str, Tensor]:
    """Output, running statistics and gradients: by our kernels, or by torch in `dtype`."""
    leaves = {
        name: getattr(case, name).detach().to(dtype or getattr(case, name).dtype).requires_grad_()
        for name in ("x", "weight", "bias", "shortcut")
        if getattr(case, name) is not None
    }
    x, weight, bias, shortcut = (leaves.get(name) for name in ("x", "weight", "bias", "shortcut"))
    statistics = (case.running_mean, case.running_var)
    running = [each.to(dtype or each.dtype, copy=True) for each in statistics]
    if dtype is None:
        options = {"eps": EPS, "momentum": MOMENTUM, "training": training}
        out = normalise(x, weight, bias, *running, **options, shortcut=shortcut, relu=relu)
    else:
        rows = zip(x, *running, weight, bias, strict=True)
        out = torch.stack([batch_norm(*row, training, MOMENTUM, EPS) for row in rows])
        out = out if shortcut is None else out + shortcut
        out = out.relu() if relu else out
    gradients = torch.autograd.grad(out, list(leaves.values()), case.g.to(dtype or case.g.dtype))
    found = {"out": out.detach(), "running_mean": running[0], "running_var": running[1]}
    return found | dict(zip(leaves, gradients, strict=True))


expected = partial(run, dtype=torch.float64)


def check(case: Case, *, training: bool = True, relu: bool = True) -> None:
    wanted = expected(case, training=training, relu=relu)
    got = run(case, training=training, relu=relu)
    assert got.keys() == wanted.keys()
    for name, value in got.items():
        assert value.dtype == (case.x.dtype if name in ("out", "x", "shortcut") else torch.float32), name
        # dx is a difference of terms that for two positions leave next to nothing.
        size = wanted[name].abs().amax().clamp_min(float(case.weight.abs().amax()) if name == "x" else 1e-3)
        assert (value.double() - wanted[name]).abs().amax() <= CLOSE[case.x.dtype] * size, name


@pytest.fixture(params=[1, 5], ids=lambda programs: f"{programs} programs")
def programs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One program for all tiles, or a few; by default each tile has its own."""
    monkeypatch.setattr(normalisation, "STATISTICS_PROGRAMS", request.param)
    monkeypatch.setattr(normalisation, "SUMS_PROGRAMS", request.param)


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("rows", "positions", "channels", "shortcut"),
    [
        (1, 2, 3, False),
        (3, 257, 3, True),
        (2, 200, 48, False),
        (1, 64, 64, True),
        (2, 70, 100, True),
        (1, 300, 32, False),
    ],
)
def test_training_equals_torch(
    device: torch.device, rows: int, positions: int, channels: int, shortcut: bool
) -> None:
    check(make(device, rows, positions, channels, shortcut=shortcut))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shortcut", [False, True])
def test_activations_in_half_precision(device: torch.device, dtype: torch.dtype, shortcut: bool) -> None:
    case = make(device, 2, 150, 32, shortcut=shortcut)
    # A bias far from zero: the half-precision result falls on the same side of the ReLU as the exact one.
    case.bias = 20 * case.bias.sign()
    case.x, case.g = case.x.to(dtype), case.g.to(dtype)
    case.shortcut = None if case.shortcut is None else case.shortcut.to(dtype)
    check(case)


@settings(max_examples=10, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(2, 140), st.integers(1, 70)),
    mode=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    seed=st.integers(0, 2**31),
)
def test_any_shape_in_any_mode_equals_torch(
    device: torch.device, shape: tuple[int, int, int], mode: tuple[bool, bool, bool], seed: int
) -> None:
    shortcut, relu, training = mode
    case = make(device, *shape, shortcut=shortcut, seed=seed)
    case.bias, case.weight = 3 * case.bias, case.weight + case.weight.sign()
    near_zero = expected(case, training=training, relu=False)["out"].abs() < 1e-4
    case.g[near_zero] = 0.0  # on which side of the ReLU these fall is a matter of rounding
    check(case, training=training, relu=relu)


@pytest.mark.usefixtures("programs")
def test_a_small_deviation_from_a_large_mean(device: torch.device) -> None:
    case = make(device, 2, 300, 16, shortcut=False)
    # 4096 ± 1/8 in steps of 2⁻¹¹, what float32 can hold. E[x²] − mean² would be off by many variances; the
    # mean itself is good to a step or two, a hundredth of the deviation or less.
    case.x = 4096 + (case.x * 80).round() / 2048
    got, wanted = (function(case, training=True, relu=False) for function in (run, expected))
    assert (case.x.var(1) < 0.1).all()
    torch.testing.assert_close(got["running_var"].double(), wanted["running_var"], rtol=1e-4, atol=0.0)
    for name in ("out", "x", "weight", "bias"):
        error = (got[name].double() - wanted[name]).abs().amax()
        assert error <= 0.03 * wanted[name].abs().amax(), name


def test_rows_of_larger_vectors_and_a_scattered_gradient(device: torch.device) -> None:
    case = make(device, 3, 100, 12, shortcut=True)
    packed = torch.cat([case.weight, torch.full((3, 5), torch.nan, device=device), case.bias], 1)
    statistics = torch.cat([case.running_mean, case.running_var], 1)
    case.weight, case.bias = packed[:, :12], packed[:, 17:]
    case.running_mean, case.running_var = statistics[:, :12], statistics[:, 12:]
    case.g = case.g.mT.contiguous().mT
    check(case)
    running = case.running_mean, case.running_var
    normalise(case.x, case.weight, case.bias, *running, eps=EPS, momentum=1.0, training=True)
    torch.testing.assert_close(statistics, torch.cat([case.x.mean(1), case.x.var(1)], 1))


def test_rows_are_independent_and_nan_stays_nan(device: torch.device) -> None:
    case = make(device, 3, 90, 20, shortcut=True)
    before = run(case, training=True, relu=True)
    case.x[1] = torch.nan
    after = run(case, training=True, relu=True)
    assert after["out"][1].isnan().all()
    for name, value in before.items():
        assert torch.equal(value[0], after[name][0]), name
        assert torch.equal(value[2], after[name][2]), name
