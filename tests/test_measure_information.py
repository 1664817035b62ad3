"""The measurement of who memorises trains several runs side by side."""

import sys
from pathlib import Path
from typing import Any

import pytest

from noiselimit import grid, load_run

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def measurement(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    import measure_information

    yield measure_information
    sys.modules.pop("measure_information")


@pytest.mark.slow
def test_runs_train_side_by_side(measurement: Any, tmp_path: Path) -> None:
    specs = grid(method="ce", network="mlp", epochs=1, dropout=[0.25, 0.5], noise="uniform:0.8")
    folders = measurement.train_all([("digits", "dropout", spec) for spec in specs], "", 2, tmp_path)
    assert [load_run(folder).spec.dropout for folder in folders] == [0.25, 0.5]
