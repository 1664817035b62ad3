"""A comparison whose trainings are made up: figures without waiting."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from noiselimit.bench.detection import comparison
from noiselimit.bench.detection.how import How
from noiselimit.bench.detection.peers import Arrays
from noiselimit.bench.detection.problem import Labelled, Problem

Calls = list[tuple[str, str]]


def made_up(training: str, labelled: Labelled, quality: float = 0.5) -> Arrays:
    """Arrays as the training would leave them; wrong labels have `quality` less probability."""
    given, classes = labelled.data.examples.labels, labelled.data.examples.classes
    own = np.where(labelled.wrong, 0.1, 0.1 + quality).astype(np.float32)
    own += np.linspace(0, 0.05, len(own), dtype=np.float32)
    table = np.repeat(((1 - own) / (classes - 1))[:, None], classes, 1)
    table[np.arange(len(own)), given] = own
    if training == "margins":
        return {"margins": np.stack([own, own, -own])}
    if training == "threshold":
        sets = np.arange(len(own)) % 11 == np.array([[0], [1]])
        return {"margins": np.where(sets, 0.2, own)[:, None].repeat(3, 1), "sets": sets}
    if training in ("folds", "plain"):
        found = {"last": table, "stopped": table[:, :], "best_epochs": np.array([2])}
        return {**found, "averaged": table} if training == "folds" else found
    seen = np.arange(len(own)) % 5 > 0
    words = {"trained": np.array("[]"), "warning": np.array(""), "known_from": np.array(len(own))}
    return {"probabilities": table, "unscaled": table, "seen": seen, **words}


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Nothing trains; returns (problem, training) of all that would have."""
    calls: Calls = []

    def stage(training: str, problem: Problem, labelled: Labelled, how: How) -> tuple[Arrays, dict[str, Any]]:
        calls.append((problem.name, training))
        took = {"seconds": 2.0, "cpu_seconds": float(len(calls)), "peak_memory": 1000}
        return made_up(training, labelled), took

    monkeypatch.setattr(comparison, "train_stage", stage)
    return calls


Fail = Callable[[str], None]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, trained: Calls) -> Fail:
    """Makes a training fail from then on."""
    honest = comparison.train_stage

    def fail(name: str) -> None:
        def stage(training: str, *others: Any) -> Any:
            if training == name:
                raise RuntimeError("out of memory\nand more")
            return honest(training, *others)

        monkeypatch.setattr(comparison, "train_stage", stage)

    return fail
