"""The kernel takes the steps of the plain rule."""

import torch

from noiselimit.optimisers import OPTIMISERS, Rates, with_kernels


def test_equals_the_plain_rule_row_by_row(device: torch.device) -> None:
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
        with_kernels(OPTIMISERS["adam"]).update(fused, gradient, states[1], now)
    torch.testing.assert_close(fused, plain, atol=1e-6, rtol=1e-5)
    for part in states[0]:
        torch.testing.assert_close(states[1][part], states[0][part], atol=1e-7, rtol=1e-5)


def test_sgd_has_no_kernel_and_stays_as_it_is() -> None:
    assert with_kernels(OPTIMISERS["sgd"]) is OPTIMISERS["sgd"]
