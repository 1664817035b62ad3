"""`LimitLoss`: gradients, gap, noise and bad input."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from noiselimit import InputError, LimitLoss


def logits_pair() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    a, r = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0))
    return a.requires_grad_(), r.requires_grad_(), torch.tensor([0, 1, 2, 3, 0, 1])


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_the_classifier_gets_the_predicted_gradient_and_the_gap_is_the_labels_distance(
    distribution: str,
) -> None:
    a, r, y = logits_pair()
    loss, gap = LimitLoss(beta=3.0, distribution=distribution)(a, y, r)
    loss.backward()
    torch.testing.assert_close(a.grad, (a.softmax(-1) - r.softmax(-1)).detach() / 6)
    expected = (torch.eye(4)[y] - r.softmax(-1)).norm(dim=-1)
    torch.testing.assert_close(gap, expected.detach())
    assert not gap.requires_grad


def test_sampling_adds_noise_of_that_size_and_obeys_torchs_seed() -> None:
    a = torch.zeros(5000, 4, requires_grad=True)
    r, y = torch.zeros(5000, 4), torch.zeros(5000, dtype=torch.int64)
    for distribution in ("laplace", "gaussian"):
        criterion = LimitLoss(distribution=distribution, sigma=0.2)
        gradients = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            gradients.append(torch.autograd.grad(criterion(a, y, r)[0], a)[0] * 5000)
        assert abs(float(gradients[0].std()) - 0.2) < 0.005
        assert torch.equal(gradients[0], gradients[1])
        assert not torch.equal(gradients[0], gradients[2])


def test_it_drops_into_an_ordinary_training_loop() -> None:
    torch.manual_seed(0)
    x = torch.randn(300, 2)
    truth = (x[:, 0] > 0).long()
    given = truth.clone()
    given[:60] = 1 - given[:60]
    classifier, predictor = (nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2)) for _ in range(2))
    optimiser = torch.optim.Adam([*classifier.parameters(), *predictor.parameters()], lr=0.01)
    criterion = LimitLoss(beta=1.0)
    for _ in range(300):
        optimiser.zero_grad()
        loss, gap = criterion(classifier(x), given, predictor(x))
        loss.backward()
        optimiser.step()
    assert (classifier(x).argmax(-1) == truth).float().mean() > 0.95
    assert gap[:60].mean() > gap[60:].mean() + 0.5


A, R, Y = (tensor.detach() for tensor in logits_pair())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LimitLoss()(A, Y, R[:3]), "aux_logits"),
        (lambda: LimitLoss()(A, Y[:3], R), "target"),
        (lambda: LimitLoss()(A, Y.float(), R), "target"),
        (lambda: LimitLoss()(A, torch.where(torch.arange(6) == 2, -1, Y), R), "row 2 is -1"),
        (lambda: LimitLoss()(A, torch.where(torch.arange(6) == 2, 4, Y), R), "row 2 is 4"),
        (lambda: LimitLoss()(A, Y.tolist(), R), "list"),
        (lambda: LimitLoss()(A[:0], Y[:0], R[:0]), "empty"),
        (lambda: LimitLoss(beta=-1), "beta is -1"),
        (lambda: LimitLoss(sigma="x"), "sigma is 'x'"),
        (lambda: LimitLoss(distribution="laplase"), "'laplace'"),
    ],
)
def test_bad_input(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
