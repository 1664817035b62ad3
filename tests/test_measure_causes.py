"""What the page says of causes follows from the measurements, the value of a grid from validation."""

import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def causes(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    import measure_causes

    yield measure_causes
    sys.modules.pop("measure_causes")


def test_every_problem_has_its_runs(causes: Any) -> None:
    specs = causes.specs(None, [0])
    few = [spec for spec in specs if spec.train_size is not None]
    assert {spec.batch_size for spec in few} == {64, 128, 256}
    assert len(few) == 3 * (1 + 1 + 1 + 4) + 3 * 2
    patient = [spec for spec in specs if spec.train_size is None]
    assert [spec.patience for spec in patient] == [400] * 8


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

    runs = [run(spec) for spec in causes.specs(None, [0, 1])]
    results = {"command": "c", "hardware": "h", "epochs": 400, "seeds": [0, 1], "runs": runs}
    block = causes.block(results)
    dmi, ce = "70.5 ± 0.7 | 70.5 ± 0.7 | 70.5 ± 0.7", "90.5 ± 0.7 | 90.5 ± 0.7 | 90.5 ± 0.7"
    assert f"| DMI at uniform:0.5/1000 | {dmi} | 79.8 ± 2.9 |" in block
    assert f"| CE at uniform:0.8/10000 | {ce} | 69.9 ± 2.6 |" in block
    assert "without early stopping: 20.5 ± 0.7 % with β 30, best epochs 3, 3 of 400" in block
    assert causes.block(None).startswith("Not measured yet")
