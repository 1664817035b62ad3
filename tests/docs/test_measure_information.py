"""The measurement of who memorises trains several runs side by side."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from noiselimit import grid, load_run


@pytest.fixture
def measurement(document_module: Callable[[str], ModuleType]) -> ModuleType:
    return document_module("measure_information")


@pytest.mark.slow
def test_runs_train_side_by_side(measurement: ModuleType, tmp_path: Path) -> None:
    specs = grid(method="ce", network="mlp", epochs=1, dropout=[0.25, 0.5], noise="uniform:0.8")
    folders = measurement.train_all([("digits", "dropout", spec) for spec in specs], "", 2, tmp_path)
    assert [load_run(folder).spec.dropout for folder in folders] == [0.25, 0.5]
