"""Causes are looked for by the tables' protocol, one thing changed."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from noiselimit.data.examples import DataSet, Examples
from noiselimit.reproduce.protocol import protocol_for

PROTOCOL = protocol_for("mnist")


@pytest.fixture
def causes(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("measure_causes")


def test_every_problem_has_its_runs(causes: Any) -> None:
    few = causes.batch_specs(PROTOCOL, [0])
    assert {spec.batch_size for spec in few} == {64, 128, 256}
    assert len(few) == 3 * (1 + 1 + 1 + 4) + 3 * 2
    assert [spec.patience for spec in causes.patient_specs(PROTOCOL, [0])] == [400] * 8


def test_shares_of_right_labels_are_those_of_the_seed_s_noise(causes: Any) -> None:
    names = tuple("0123456789")
    examples = Examples(np.ones((50_000, 2), np.float32), np.arange(50_000) % 10, names)
    data = DataSet("flat", examples, test=examples)
    found = causes.right_labels(data, [0, 1])
    assert found["n"] == 48_000
    first, second = found["seeds"]
    assert first["train"] != second["train"]
    for one in (first, second):
        assert one["train"] == pytest.approx(0.11, abs=0.006)
        assert one["validation"] == pytest.approx(0.11, abs=0.012)
