"""What the page says of causes follows from the measurements, the value of a grid from validation."""

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


def test_tables_show_what_validation_chose(causes: Any) -> None:
    def run(spec: Any) -> dict[str, Any]:
        value = spec.hyper.get("beta", spec.learning_rate)
        return {
            "n": spec.train_size or 48_000,
            "method": spec.method,
            "value": value,
            "batch_size": spec.batch_size,
            "patience": spec.patience,
            "seed": spec.seed,
            "best_epoch": 3,
            "validation_accuracy": 0.5 if value in (1e-4, 30.0) else 0.4,
            "test_accuracy": {1e-4: 0.7, 30.0: 0.2}.get(value, 0.9) + 0.01 * spec.seed,
        }

    def part(specs: Any) -> dict[str, Any]:
        return {"hardware": "h", "epochs": 400, "seeds": [0, 1], "runs": [run(spec) for spec in specs]}

    block = causes.block(
        {
            "batches": part(causes.batch_specs(PROTOCOL, [0, 1])),
            "patience": part(causes.patient_specs(PROTOCOL, [0, 1])),
        }
    )
    dmi, ce = "70.5 ± 0.7 | 70.5 ± 0.7 | 70.5 ± 0.7", "90.5 ± 0.7 | 90.5 ± 0.7 | 90.5 ± 0.7"
    assert f"| DMI at uniform:0.5/1000 | {dmi} | 79.8 ± 2.9 |" in block
    assert f"| CE at uniform:0.8/10000 | {ce} | 69.9 ± 2.6 |" in block
    assert "without early stopping: 20.5 ± 0.7 % with β 30, best epochs 3, 3 of 400" in block
    assert block.startswith("Not measured yet: `python docs/measure_causes.py labels --data-dir DIR`.")


def test_what_can_be_learned_is_what_right_labels_have_over_others(causes: Any) -> None:
    seeds = [{"seed": 7, "train": 0.19, "validation": 0.1}]
    block = causes.block({"labels": {"p": 0.89, "n": 48_000, "classes": 10, "seeds": seeds}})
    assert "only the difference, 1.11 points" in block
    assert "| seed | 7 |" in block
    assert "| train, points | 10.00 |" in block
    assert "| validation, points | 0.00 |" in block


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
