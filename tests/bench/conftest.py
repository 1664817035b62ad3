"""Bench files made by hand."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from noiselimit.bench.work import Way
from noiselimit.spec import RunSpec

Make = Callable[..., dict[str, Any]]


@pytest.fixture
def content() -> Make:
    """The content of a bench file with these rows and points, everything else at some value."""

    def make(
        *rows: dict[str, Any], points: tuple[dict[str, Any], ...] = (), **changes: Any
    ) -> dict[str, Any]:
        return {
            "kind": "noiselimit bench",
            "schema": 1,
            "date": "2020-01-01T00:00:00+00:00",
            "device": "a device",
            "device_type": "cpu",
            "versions": {"torch": "2"},
            "threads": 2,
            "commit": None,
            "changed": None,
            "quick": False,
            "precision": "float32",
            "kernels": "auto",
            "graphs": "auto",
            "finished": True,
            "ceilings": {"tflop_per_s": 2.0, "gb_per_s": 10.0, "precision": "float32"},
            "rows": list(rows),
            "points": list(points),
            **changes,
        }

    return make


class TrainSpy:
    """In place of `train`: notes in which way it was asked to train, and reports every epoch at once."""

    def __init__(self) -> None:
        self.ways: list[Way] = []

    def __call__(
        self, specs: list[RunSpec], data: Any, *, kernels: str, graphs: str, progress: Any, **_: Any
    ) -> list[Any]:
        (precision,) = {spec.precision for spec in specs}
        self.ways.append(Way(precision, kernels, graphs))
        for _epoch in range(specs[0].epochs):
            for row in range(len(specs)):
                progress(SimpleNamespace(spec=SimpleNamespace(hash=row), record=object(), done=1, total=1))
        return [SimpleNamespace(failed=False, metrics={"train_examples": 16}) for _spec in specs]


@pytest.fixture
def train_spy(monkeypatch: pytest.MonkeyPatch) -> TrainSpy:
    """Nothing trains; what would have is noted."""
    spy = TrainSpy()
    monkeypatch.setattr("noiselimit.training.train", spy)
    monkeypatch.setattr("noiselimit.bench.timing.train", spy)
    return spy
