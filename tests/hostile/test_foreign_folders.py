"""Run folders that somebody else made: the code that they name is not imported unless you trust it."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor, nn

from noiselimit import InputError, RunSpec, load_run, train
from noiselimit.data.examples import DataSet

CODE = """
from pathlib import Path
from tests.hostile.test_foreign_folders import Net

Path("imported").touch()


def build(input_shape, classes):
    return Net(input_shape, classes)
"""


class Net(nn.Module):
    def __init__(self, input_shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.fc = nn.Linear(input_shape[0], classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.fc(x), x


@pytest.fixture(scope="module")
def folder(blobs: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a network that it names by dotted path."""
    place = tmp_path_factory.mktemp("foreign")
    (place / "foreign_network.py").write_text(CODE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.syspath_prepend(str(place))
        run = train(RunSpec("ce", epochs=1, network="foreign_network:build"), blobs, out=place / "runs")[0]
        sys.modules.pop("foreign_network")
    (place / "imported").unlink()
    assert run.path is not None
    return run.path


@pytest.fixture(autouse=True)
def in_the_folder_of_the_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent.parent)
    monkeypatch.setattr(sys, "path", [*sys.path])


def imported() -> bool:
    return "foreign_network" in sys.modules or Path("imported").exists()


def test_code_is_not_imported_unless_trusted(folder: Path, blobs: DataSet) -> None:
    run = load_run(folder)
    assert len(run.outputs) == 151
    with pytest.raises(InputError, match="foreign_network:build"):
        _ = run.model
    with pytest.raises(InputError, match="foreign_network:build"):
        _ = load_run(folder, factory={"another:build": Net}).model
    ways = [Net, {"foreign_network.build": Net}]
    said = [load_run(folder, factory=way).predict_proba(blobs.examples.inputs) for way in ways]
    assert np.array_equal(*said)
    assert not imported()
    assert load_run(folder, trusted=True).model is not None
    assert imported()
    sys.modules.pop("foreign_network")
    Path("imported").unlink()


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"network": "os.system"}, "os:system"),
        ({"network": "resnet-18"}, "resnet-18"),
        ({"epochs": 0}, "epochs"),
        ({"schema": 2}, r"spec\.json"),
        ({"from_the_future": 1}, r"spec\.json"),
    ],
)
def test_an_edited_folder_runs_nothing(
    folder: Path, tmp_path: Path, values: dict[str, object], word: str
) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    spec = json.loads((copy / "spec.json").read_text())
    (copy / "spec.json").write_text(json.dumps({**spec, **values}))
    with pytest.raises(InputError, match=word):
        _ = load_run(copy, factory={"foreign_network:build": Net}).model
    assert not imported()
