"""The tally kernel computes what the torch version computes."""

import math

import pytest
import torch
from torch import Tensor

from noiselimit.engine.metrics import EpochTotals

ROWS, BEFORE = 3, 2
EXACT = ("correct", "wrong", "fitted", "first_bad")


def totals_of(steps: list[dict[str, Tensor | None]], device: torch.device, kernels: bool) -> EpochTotals:
    totals = EpochTotals.zeros(ROWS, device)
    for number, step in enumerate(steps):
        totals.add(**step, step=torch.tensor(BEFORE + number, device=device), kernels=kernels)
    return totals


def assert_same(steps: list[dict[str, Tensor | None]], device: torch.device) -> EpochTotals:
    plain, fused = (totals_of(steps, device, kernels) for kernels in (False, True))
    for name, ours, theirs in zip(EpochTotals._fields, fused, plain, strict=True):
        # ‖μ‖² is summed from float32 in both; entropies are float64, of numbers about 1.
        precision = 0 if name in EXACT else 1e-5 if name == "square_norm" else 1e-12
        least = 1e-14 if name == "unsure" else 0
        torch.testing.assert_close(ours, theirs, rtol=precision, atol=least, equal_nan=True, msg=name)
    return fused


def made(
    device: torch.device, classes: int, batch: int, predictors: int = 2, flags: bool = True, count: int = 3
) -> list[dict[str, Tensor | None]]:
    """Random steps with hits and misses."""
    generator = torch.Generator().manual_seed(classes * 1000 + batch)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(device)

    steps: list[dict[str, Tensor | None]] = []
    for _ in range(count):
        logits = 3 * normal(ROWS, batch, classes)
        drawn = torch.randint(classes, (ROWS, batch), generator=generator).to(device)
        steps.append(
            {
                "losses": normal(ROWS),
                "logits": logits.requires_grad_(),
                "predicted": 8 * normal(predictors, batch, classes) if predictors else None,
                "labels": torch.where(normal(ROWS, batch) > 0, logits.argmax(-1), drawn),
                "wrong": normal(ROWS, batch) > 0.5 if flags else None,
            }
        )
    return steps


@pytest.mark.parametrize("classes", [2, 10, 100])
@pytest.mark.parametrize("batch", [1, 300])
def test_equals_torch(device: torch.device, classes: int, batch: int) -> None:
    totals = assert_same(made(device, classes, batch), device)
    assert totals.unsure[2] == totals.square_norm[2] == 0
    if batch > 1:
        assert (totals.correct > 0).all()
        assert (totals.fitted > 0).all()
        assert (totals.fitted < totals.wrong).all()


@pytest.mark.parametrize(("predictors", "flags"), [(0, True), (3, False), (1, True), (0, False)])
def test_optional_tensors(device: torch.device, predictors: int, flags: bool) -> None:
    totals = assert_same(made(device, 10, 70, predictors, flags), device)
    assert totals.unsure.count_nonzero() == totals.square_norm.count_nonzero() == predictors
    assert totals.wrong.any() == flags


def test_of_equal_logits_the_first_wins(device: torch.device) -> None:
    [step] = made(device, 10, 64, count=1)
    step["logits"] = torch.randint(0, 2, (ROWS, 64, 10), generator=torch.Generator().manual_seed(0)).to(
        device, torch.float32
    )
    step["labels"] = step["logits"].argmax(-1)
    step["labels"][:, ::2] = 9 - step["logits"].flip(-1).argmax(-1)[:, ::2]  # the last of equals
    totals = assert_same([step], device)
    assert (totals.correct >= 32).all()
    assert (totals.correct < 64).all()


def test_the_entropy_of_a_sure_predictor_is_exact(device: torch.device) -> None:
    [step] = made(device, 10, 5, count=1)
    step["predicted"] = torch.zeros(2, 5, 10, device=device)
    step["predicted"][..., 3] = 25
    rest = 9 * math.exp(-25)
    bits = (math.log1p(rest) + 25 * rest / (1 + rest)) / math.log(2)
    assert assert_same([step], device).unsure[0].item() == pytest.approx(5 * bits, rel=1e-6)


def test_the_first_infinite_loss(device: torch.device) -> None:
    steps = made(device, 10, 20, count=4)
    steps[1]["losses"][0] = torch.nan
    steps[2]["losses"][:2] = -torch.inf
    assert assert_same(steps, device).first_bad.tolist() == [BEFORE + 1, BEFORE + 2, -1]


def test_nan_stays_in_its_row(device: torch.device) -> None:
    steps = made(device, 10, 20)
    with torch.no_grad():
        steps[1]["logits"][0, 3, 4:6] = torch.nan
    totals = assert_same(steps, device)
    assert totals.square_norm.isnan().tolist() == [True, False, False]
