"""Run folders that somebody else made: code they name is not imported, altered ones are refused."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor, nn

from noiselimit import InputError, RunSpec, load_run, train
from noiselimit.data.examples import DataSet

CODE = """
from pathlib import Path

from torch import nn

Path("imported").touch()


class Net(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.fc(x), x


def build(input_shape, classes):
    return Net(input_shape[0], classes)
"""


class Net(nn.Module):
    """The same network as in the file."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.fc(x), x


@pytest.fixture(scope="module")
def folder(blobs: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a network that it names by dotted path."""
    place = tmp_path_factory.mktemp("foreign")
    (place / "somebodys_network.py").write_text(CODE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.syspath_prepend(str(place))
        run = train(RunSpec("ce", epochs=1, network="somebodys_network:build"), blobs, out=place / "runs")[0]
        sys.modules.pop("somebodys_network")
    (place / "imported").unlink()
    assert run.path is not None
    return run.path


@pytest.fixture(autouse=True)
def _where_the_code_lies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent.parent)
    monkeypatch.setattr(sys, "path", [*sys.path])


def imported() -> bool:
    return "somebodys_network" in sys.modules or Path("imported").exists()


def test_code_that_a_folder_names_is_not_imported(folder: Path) -> None:
    run = load_run(folder)
    assert len(run.outputs) == 151
    with pytest.raises(InputError, match=r"needs the code at 'somebodys_network:build': if you trust it"):
        _ = run.model
    assert not imported()


def test_a_given_factory_takes_the_place_of_the_code(folder: Path, blobs: DataSet) -> None:
    ways: list[Any] = [lambda shape, classes: Net(shape[0], classes)]
    ways.append({"somebodys_network.build": ways[0]})
    said = [load_run(folder, factory=way).predict_proba(blobs.examples.inputs) for way in ways]
    assert np.array_equal(*said)
    assert not imported()


def test_a_factory_for_another_path_does_not_count_as_trust(folder: Path) -> None:
    with pytest.raises(InputError, match="needs the code at"):
        _ = load_run(folder, factory={"another:build": Net}).model
    assert not imported()


def test_one_factory_cannot_stand_for_two_paths(folder: Path, tmp_path: Path) -> None:
    copy = changed(folder, tmp_path, predictor_features="os.path:join")
    with pytest.raises(InputError, match=r"os\.path:join and somebodys_network:build: give factory="):
        load_run(copy, factory=Net)


def test_a_trusted_folder_is_imported(folder: Path) -> None:
    assert load_run(folder, trusted=True).model is not None
    assert imported()
    sys.modules.pop("somebodys_network")
    Path("imported").unlink()


def changed(folder: Path, tmp_path: Path, **values: object) -> Path:
    """A copy of the run with other values in its spec."""
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    spec = json.loads((copy / "spec.json").read_text())
    (copy / "spec.json").write_text(json.dumps({**spec, **values}))
    return copy


@pytest.mark.parametrize("values", [{"schema": 2}, {"schema": None}, {"from_the_future": 1}])
def test_a_newer_folder_is_refused(folder: Path, tmp_path: Path, values: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"spec\.json was written by another version .* install the version"):
        load_run(changed(folder, tmp_path, **values))


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("network", "os.system", "needs the code at 'os:system'"),
        ("network", "resnet-18", "do not fit network 'resnet-18'"),
        ("epochs", 0, "spec.json was altered"),
    ],
)
def test_an_edited_folder_runs_nothing(
    folder: Path, tmp_path: Path, name: str, value: object, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        _ = load_run(
            changed(folder, tmp_path, **{name: value}), factory={"somebodys_network:build": Net}
        ).model
    assert not imported()
