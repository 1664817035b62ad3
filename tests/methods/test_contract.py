"""What every method must keep; a new one is tested here the day it is written."""

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor

from noiselimit.methods import METHODS, Batch, Method
from noiselimit.methods.method import log_likelihood
from noiselimit.testing import check_compiled, check_method


@pytest.mark.parametrize("name", sorted(METHODS))
def test_it_keeps_the_contract(name: str) -> None:
    check_method(METHODS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["limit-l", "dmi"])
def test_it_compiles_with_the_default_backend(name: str) -> None:
    check_compiled(METHODS[name], "inductor")


def test_the_registry_holds_all_that_the_papers_tables_name() -> None:
    named = {"ce", "ce-gn", "ce-ln", "mae", "gce", "fw", "dmi", "soft-penalty", "limit-ce"}
    assert named | {f"limit-{a}{b}" for a in "gl" for b in ("", "+s", "+init")} <= set(METHODS)


def losses(batch: Batch) -> Tensor:
    return -log_likelihood(batch.logits, batch.labels)


def naive(batch: Batch) -> Tensor:
    return -batch.logits.softmax(-1).gather(-1, batch.labels[..., None]).log()[..., 0]


FAULTS: dict[str, tuple[Any, str]] = {
    "one loss for all": (lambda b, h: b.mean(losses(b)).mean(), "shape"),
    "infinite": (lambda b, h: b.mean(naive(b)), "logits × 100"),
    "rows share a scale": (
        lambda b, h: b.mean(losses(b)) / losses(b).detach().mean(),
        "depends on the others",
    ),
    "weights ignored": (lambda b, h: losses(b).mean(-1), "weights"),
    "hides NaN": (lambda b, h: b.mean(losses(b).nan_to_num()), "must show"),
    "order": (lambda b, h: b.mean(losses(b) * torch.arange(1.0, b.labels.shape[1] + 1)), "not close"),
    "nothing to learn": (lambda b, h: b.mean(losses(b).detach() + 0 * b.logits.sum(-1)), "depend on logits"),
    "no vmap": (lambda b, h: b.mean(losses(b) * (1.0 if b.labels.max().item() else 2.0)), "vmap"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault: str) -> None:
    loss, words = FAULTS[fault]
    with pytest.raises(Exception, match=words):
        check_method(Method("faulty", loss))


def test_a_bad_estimate_of_the_transition_is_found() -> None:
    bad = dataclasses.replace(METHODS["fw"], transition=lambda probabilities: torch.ones(4, 4))
    with pytest.raises(AssertionError):
        check_method(bad)
