"""What the page says of causes follows from the measurements, the value of a grid from validation."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.rows import ResultRow

PROTOCOL = protocol_for("mnist")


@pytest.fixture
def page(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("causes_page")


@pytest.fixture
def measure_causes(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("measure_causes")


def test_tables_show_what_validation_chose(
    page: Any, measure_causes: Any, make_row: Callable[..., ResultRow]
) -> None:
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

    block = page.block(
        {
            "batches": part(measure_causes.batch_specs(PROTOCOL, [0, 1])),
            "patience": part(measure_causes.patient_specs(PROTOCOL, [0, 1])),
        },
        [make_row(p=0.89, seed=seed, test_accuracy=0.12 + 0.02 * seed) for seed in (0, 1, 2)],
    )
    dmi, ce = "70.5 ± 0.7 | 70.5 ± 0.7 | 70.5 ± 0.7", "90.5 ± 0.7 | 90.5 ± 0.7 | 90.5 ± 0.7"
    assert f"| DMI at uniform:0.5/1000 | {dmi} | 79.8 ± 2.9 |" in block
    assert f"| CE at uniform:0.8/10000 | {ce} | 69.9 ± 2.6 |" in block
    assert (
        "without early stopping: 20.5 ± 0.7 % with β 30, best epochs 3, 3 of 400; with it, on the same "
        "seeds, 13.0 ± 1.4 %." in block
    )
    assert "Of these 6, 5 with batches of 64, 5 with 128, 5 with 256 are at or above" in block, (
        "all but DMI's are at 90.5"
    )
    assert block.startswith("Not measured yet: `python docs/measure_causes.py labels --data-dir DIR`.")


def test_what_can_be_learned_is_what_right_labels_have_over_others(page: Any) -> None:
    seeds = [{"seed": 7, "train": 0.19, "validation": 0.1}]
    block = page.block({"labels": {"p": 0.89, "n": 48_000, "classes": 10, "seeds": seeds}}, [])
    assert "only the difference, 1.11 points" in block
    assert "| seed | 7 |" in block
    assert "| train, points | 10.00 |" in block
    assert "| validation, points | 0.00 |" in block
