"""The Adam kernel computes what the torch version computes."""

from dataclasses import replace

import pytest
import torch

from noiselimit.engine.optimisers import OPTIMISERS, Rates


def test_equals_torch_in_every_row(device: torch.device) -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(3, 2051, generator=generator).to(device)
    plain, fused = start.clone(), start.clone()
    states = [{part: torch.zeros_like(start) for part in ("mean", "square")} for _ in range(2)]
    rates, decays = torch.tensor([1e-3, 1e-2, 0.1]), torch.tensor([0.0, 0.01, 0.1])
    for step in range(5):
        gradient = torch.randn(3, 2051, generator=generator).to(device)
        now = Rates(
            *(values.double().to(device) for values in (rates, decays, rates)),
            step=torch.tensor(step, device=device),
        )
        OPTIMISERS["adam"].update(plain, gradient, states[0], now)
        replace(OPTIMISERS["adam"], kernels=True).update(fused, gradient, states[1], now)
    torch.testing.assert_close(fused, plain, atol=1e-6, rtol=1e-5)
    for part in states[0]:
        torch.testing.assert_close(states[1][part], states[0][part], atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("taken", [1, 2, 10, 1000, 12_345, 10**7])
def test_bias_correction_early_and_late(device: torch.device, taken: int) -> None:
    """One step from weights of 0 shows the factors."""
    mean, square = 0.25, 0.0625
    weights = torch.zeros(2, 3, device=device)
    state = {
        "mean": torch.full_like(weights, mean / 0.9),
        "square": torch.full_like(weights, square / 0.999),
    }
    rates = torch.tensor([1e-3, 0.1], dtype=torch.float64)
    rest = torch.zeros(2, dtype=torch.float64, device=device)
    now = Rates(rates.to(device), rest, rest, torch.tensor(taken - 1, device=device))
    replace(OPTIMISERS["adam"], kernels=True).update(weights, torch.zeros_like(weights), state, now)
    root = (square / (1 - 0.999**taken)) ** 0.5
    expected = -rates * mean / (1 - 0.9**taken) / (root + 1e-8)
    torch.testing.assert_close(weights.cpu().double(), expected[:, None].expand(2, 3), rtol=1e-6, atol=0)
