import pytest
import torch

from noiselimit.engine.optimisers import OPTIMISERS, SCHEDULES, Rates


def torch_optimiser(name: str, parameter: torch.Tensor, rate: float, decay: float) -> torch.optim.Optimizer:
    if name == "adam":
        return torch.optim.Adam([parameter], lr=rate, weight_decay=decay)
    return torch.optim.SGD([parameter], lr=rate, weight_decay=decay, momentum=0.9)


@pytest.mark.parametrize("name", sorted(OPTIMISERS))
def test_every_row_follows_torchs_optimiser_with_its_own_rates(name: str) -> None:
    rates, decays = [1e-3, 1e-2, 0.1], [0.0, 0.01, 0.1]
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(3, 20, generator=generator)
    ours = start.clone()
    state = {part: torch.zeros_like(ours) for part in OPTIMISERS[name].state}
    theirs = [start[row].clone().requires_grad_() for row in range(3)]
    optimisers = [torch_optimiser(name, theirs[row], rates[row], decays[row]) for row in range(3)]
    for step in range(20):
        gradient = torch.randn(3, 20, generator=generator)
        now = Rates(*map(torch.tensor, (rates, decays, [0.9] * 3)), step=torch.tensor(step))
        OPTIMISERS[name].update(ours, gradient, state, now)
        for row in range(3):
            theirs[row].grad = gradient[row].clone()
            optimisers[row].step()
    for row in range(3):
        torch.testing.assert_close(ours[row], theirs[row].detach(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", sorted(OPTIMISERS))
@pytest.mark.parametrize("size", [1, 17, 1001, 2**16 + 5])
def test_a_rows_update_is_bitwise_the_same_alone(name: str, size: int) -> None:
    """Odd sizes put row borders inside vector registers."""
    generator = torch.Generator().manual_seed(size)
    start = torch.randn(5, size, generator=generator)
    gradients = [torch.randn(5, size, generator=generator) for _ in range(5)]

    def trained(rows: slice) -> torch.Tensor:
        values = start[rows].clone()
        state = {part: torch.zeros_like(values) for part in OPTIMISERS[name].state}
        for step, gradient in enumerate(gradients):
            ones = torch.ones(len(values), dtype=torch.float64)
            rates = Rates(1e-2 * ones, 1e-3 * ones, 0.9 * ones, torch.tensor(step))
            OPTIMISERS[name].update(values, gradient[rows].clone(), state, rates)
        return values

    together = trained(slice(0, 5))
    for row in range(5):
        assert torch.equal(trained(slice(row, row + 1))[0], together[row])


def test_schedules() -> None:
    assert SCHEDULES["constant"](0.7) == SCHEDULES["cosine"](0.0) == 1.0
    assert SCHEDULES["cosine"](0.5) == pytest.approx(0.5)
    assert SCHEDULES["cosine"](1.0) == pytest.approx(0.0)
