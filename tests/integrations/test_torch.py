"""`Limit`: what reaches the classifier, what it takes and returns, and the record of labels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
import torch.multiprocessing
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from noiselimit import InputError, LimitLoss
from noiselimit.integrations.torch import LabelRecord, Limit


def network(seed: int = 0, classes: int = 3) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, classes))


def clouds() -> tuple[Tensor, Tensor, Tensor]:
    """Inputs [240, 8], given labels of which a fifth are wrong, and which ones."""
    generator = torch.Generator().manual_seed(0)
    clean = torch.arange(240) % 3
    inputs = torch.randn(240, 8, generator=generator) + 3 * torch.eye(3, 8)[clean]
    wrong = torch.rand(240, generator=generator) < 0.2
    return inputs, torch.where(wrong, (clean + 1) % 3, clean), wrong


INPUTS, LABELS, WRONG = clouds()


def train(limit: nn.Module, batches: Callable[[int], Any], epochs: int = 30) -> None:
    optimiser = torch.optim.Adam(limit.parameters(), lr=0.01)
    for epoch in range(epochs):
        for rows in batches(epoch):
            optimiser.zero_grad()
            limit(INPUTS[rows], labels=LABELS[rows], rows=rows).loss.backward()
            optimiser.step()


def shuffled(epoch: int) -> tuple[Tensor, ...]:
    return torch.randperm(240, generator=torch.Generator().manual_seed(epoch)).split(40)


def test_a_plain_loop_finds_the_wrong_labels() -> None:
    limit = Limit(network(), network(1), beta=1.0, examples=240)
    train(limit, shuffled)
    limit.eval()
    assert ((limit(INPUTS).argmax(1) == LABELS) | WRONG).float().mean() > 0.97
    issues = limit.label_issues()
    assert issues["row"].tolist() == list(range(240))
    flagged = issues["is_label_issue"].to_numpy()
    assert (flagged == WRONG.numpy()).mean() > 0.95


def test_labels_reach_the_classifier_through_the_predictor_only() -> None:
    gradients = []
    for labels in (LABELS, (LABELS + 1) % 3):
        limit = Limit(network(), network(1))
        limit(INPUTS, labels=labels).loss.backward()
        gradients.append([parameter.grad for parameter in limit.classifier.parameters()])
    assert all(torch.equal(first, second) for first, second in zip(*gradients, strict=True))


class Named(NamedTuple):
    logits: Tensor


@pytest.mark.parametrize(
    "wrap",
    [lambda x: (x, None), lambda x: {"logits": x}, lambda x: Named(x)],
    ids=["tuple", "dict", "object"],
)
def test_networks_may_return_logits_in_other_things(wrap: Callable[[Tensor], Any]) -> None:
    plain = Limit(network(), network(1))
    expected = plain(INPUTS, labels=LABELS).loss
    for module in (plain.classifier, plain.predictor):
        module.register_forward_hook(lambda module, inputs, output: wrap(output))
    assert torch.equal(plain(INPUTS, labels=LABELS).loss, expected)


def test_soft_and_ignored_labels() -> None:
    a, r = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([0, 1, -100, 3, -100, 1])
    kept = y >= 0
    for distribution in ("laplace", "gaussian"):
        criterion = LimitLoss(beta=2.0, distribution=distribution)
        loss, gap = criterion(a, y, r)
        expected, gaps = criterion(a[kept], y[kept], r[kept])
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(gap[kept], gaps)
        assert gap[~kept].isnan().all()
        soft, soft_gaps = criterion(a[kept], torch.eye(4)[y[kept]], r[kept])
        torch.testing.assert_close(soft, expected)
        torch.testing.assert_close(soft_gaps, gaps)
        tokens, token_gaps = criterion(a.view(2, 3, 4), y.view(2, 3), r.view(2, 3, 4))
        torch.testing.assert_close(tokens, loss)
        assert token_gaps.shape == (2, 3)


def test_compile_autocast_and_accumulated_gradients_change_rounding_only() -> None:
    torch.manual_seed(0)
    limit = Limit(network(), network(1))
    limit(INPUTS, labels=LABELS).loss.backward()
    expected = [parameter.grad.clone() for parameter in limit.parameters()]
    limit.zero_grad()
    for part in range(4):
        rows = slice(60 * part, 60 * part + 60)
        (limit(INPUTS[rows], labels=LABELS[rows]).loss / 4).backward()
    for parameter, gradient in zip(limit.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-3, atol=1e-5)
    compiled = torch.compile(limit, backend="aot_eager")
    torch.testing.assert_close(compiled(INPUTS, labels=LABELS).loss, limit(INPUTS, labels=LABELS).loss)
    with torch.autocast("cpu", torch.bfloat16):
        loss = limit(INPUTS, labels=LABELS).loss
    torch.testing.assert_close(loss.float(), limit(INPUTS, labels=LABELS).loss, rtol=0.02, atol=0.02)


def _train_as_process(rank: int, folder: Path) -> None:
    """One of two processes; each takes half of every batch, and the last batch repeats examples."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=2)
    limit = Limit(network(), network(1), beta=1.0, examples=240)
    train(
        DistributedDataParallel(limit), lambda epoch: [b.view(2, -1)[rank] for b in padded(epoch)], epochs=3
    )
    assert limit.record is not None
    limit.record.load_state_dict(limit.record.state_dict())  # as if training had resumed
    issues = limit.label_issues()
    if rank == 0:
        issues.to_parquet(folder / "issues.parquet")
    torch.distributed.destroy_process_group()


def padded(epoch: int) -> list[Tensor]:
    order = torch.randperm(240, generator=torch.Generator().manual_seed(epoch))
    return list(torch.cat([order, order[:16]]).split(64))


@pytest.mark.slow
def test_two_processes_agree_with_one(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_train_as_process, (tmp_path,), nprocs=2)
    alone = Limit(network(), network(1), beta=1.0, examples=240)
    train(alone, padded, epochs=3)
    both, one = pd.read_parquet(tmp_path / "issues.parquet"), alone.label_issues()
    np.testing.assert_allclose(both["gap"], one["gap"], rtol=1e-3, atol=1e-4)
    assert both["row"].tolist() == one["row"].tolist()


def test_a_record_continues_from_its_state() -> None:
    first, resumed = (Limit(network(), network(1), examples=240) for _ in range(2))
    assert first.record is not None
    assert resumed.record is not None
    train(first, shuffled, epochs=2)
    resumed.load_state_dict(first.state_dict())
    resumed.record.load_state_dict(first.record.state_dict())
    for limit in (first, resumed):
        train(limit, shuffled, epochs=1)
    pd.testing.assert_frame_equal(first.label_issues(), resumed.label_issues())
    with pytest.raises(InputError, match="same data"):
        LabelRecord(10).load_state_dict(first.record.state_dict())


def frozen() -> nn.Module:
    return network().requires_grad_(False)


A, R = torch.zeros(2, 4, 3)
ROWS = torch.arange(4)


def not_finite() -> LabelRecord:
    record = LabelRecord(4)
    record.update(ROWS, ROWS % 3, A, torch.where(ROWS == 2, torch.nan, 0.0)[:, None] + R)
    return record


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Limit(nn.ReLU()), "classifier has no trainable"),
        (lambda: Limit(nn.Linear), "give a torch.nn.Module"),  # type: ignore[arg-type]
        (lambda: Limit(network(), "mlp"), "predictor is 'mlp'"),  # type: ignore[arg-type]
        (lambda: Limit(network(), frozen()), "predictor has no trainable"),
        (lambda: Limit(net := network(), net), "share parameters"),
        (
            lambda: Limit(network(), network(1, classes=4))(INPUTS, labels=LABELS),
            "3 classes and the predictor 4",
        ),
        (lambda: Limit(network())(INPUTS, labels=LABELS + 5), "labels go from 0 to 2"),
        (lambda: Limit(network())(INPUTS, labels=LABELS, rows=torch.arange(240)), "examples=n"),
        (lambda: Limit(network()).label_issues(), "examples=n"),
        (lambda: Limit(network(), examples=3).label_issues(), "pass rows"),
        (lambda: Limit(network(), examples=0), "examples is 0"),
        (lambda: LabelRecord(3).update(ROWS, ROWS, A, R), "row 3 is not in 0 … 2"),
        (lambda: LabelRecord(4).update(ROWS[:2], ROWS, A, R), "one whole number"),
        (lambda: LabelRecord(4).update(ROWS > 0, ROWS, A, R), "bool"),
        (lambda: LabelRecord(4).update([0, 1, 2, 3], ROWS, A, R), "list"),  # type: ignore[arg-type]
        (lambda: not_finite().label_issues(), "NaN for row 2"),
        (lambda: Limit(nn.LSTM(8, 3))(INPUTS[None], labels=LABELS), "give one integer label"),
    ],
)
def test_bad_input(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
