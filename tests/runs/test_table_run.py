"""A run trained on a table predicts for new rows of one, from the folder too."""

import json
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from noiselimit import InputError, RunSpec, load_run, train
from noiselimit.data.arrays import LazyInputs, View
from noiselimit.data.catalogue import load_data, load_inputs
from noiselimit.runs.run import Run

COLOURS = ["grün", "", "blau"]


def rows(count: int = 90) -> pd.DataFrame:
    """Numbers on two scales and a colour, some of it missing, which tell the classes 1, 2 and 3 apart."""
    generator = np.random.default_rng(5)
    labels = np.arange(count) % 3
    return pd.DataFrame(
        {
            "größe": 1000 * labels + generator.normal(size=count),
            "colour": [COLOURS[label] for label in labels],
            "noise": generator.normal(size=count),
            "label": labels + 1,
        }
    )


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "toys.csv"
    rows().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def run(csv: Path) -> Run:
    spec = RunSpec("ce", epochs=8, batch_size=16, learning_rate=0.01)
    return train(spec, load_data(csv), out=csv.parent / "runs")[0]


@pytest.fixture
def copy(run: Run, tmp_path: Path) -> Path:
    assert run.path is not None
    return Path(shutil.copytree(run.path, tmp_path / "run"))


def test_new_rows_are_encoded_as_the_training_rows_were(run: Run, csv: Path, tmp_path: Path) -> None:
    loaded = load_run(run.path or "")
    assert loaded.data == run.data
    assert loaded.data.table is not None
    assert loaded.data.table.feature_names == (
        "größe",
        "colour is missing",
        "colour=blau",
        "colour=grün",
        "noise",
    )
    assert loaded.metrics["test_accuracy"] > 0.9
    expected = loaded.predict_proba(load_inputs(csv, table=loaded.data.table))
    assert (expected.argmax(1) == rows()["label"] - 1).mean() > 0.9
    new = rows()[["noise", "colour", "größe"]].assign(more="x")
    np.testing.assert_allclose(loaded.predict_proba(new), expected, atol=1e-6)
    new.to_parquet(tmp_path / "new.parquet")
    again = loaded.predict_proba(load_inputs(tmp_path / "new.parquet", table=loaded.data.table))
    np.testing.assert_allclose(again, expected, atol=1e-6)


def test_frames_that_lack_something(run: Run) -> None:
    with pytest.raises(InputError, match=r"^inputs: there is no column 'noise', which the training data had"):
        run.predict_proba(rows()[["größe", "colour"]])
    with pytest.raises(InputError, match=r"inputs of shape .* are empty"):
        run.predict_proba(rows(0))


@pytest.mark.parametrize("table", [None, [], "x", [{"name": "größe"}], [{"name": "a", "categories": [1]}]])
def test_an_altered_table_is_noticed(copy: Path, table: object) -> None:
    content = json.loads((copy / "data.json").read_text("utf-8"))
    (copy / "data.json").write_text(json.dumps({**content, "table": table}), "utf-8")
    with pytest.raises(InputError, match=r"data\.json cannot be read: it is missing, damaged or altered"):
        load_run(copy)


def test_a_folder_without_a_table_is_one_of_old(copy: Path) -> None:
    content = json.loads((copy / "data.json").read_text("utf-8"))
    del content["table"]
    (copy / "data.json").write_text(json.dumps(content), "utf-8")
    assert load_run(copy).data.table is None


class Counted(LazyInputs):
    """Pictures that count how many were asked for at once."""

    def __init__(self, pictures: npt.NDArray[np.uint8]) -> None:
        self.pictures = pictures
        self.most = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.pictures.shape

    @property
    def digest(self) -> bytes:
        return b"counted"

    def read(self, row: int, view: View = View()) -> npt.NDArray[np.uint8]:  # noqa: B008 - frozen
        return self.pictures[row]

    def __getitem__(self, rows: slice) -> npt.NDArray[np.uint8]:
        found = super().__getitem__(rows)
        self.most = max(self.most, len(found))
        return found


def test_lazy_inputs_are_read_in_pieces(tiny_images) -> None:
    run = train(RunSpec("ce", epochs=1, batch_size=32), tiny_images)[0]
    lazy = Counted(tiny_images.examples.inputs)
    said = run.predict_proba(lazy, batch_size=7)
    assert lazy.most == 7
    np.testing.assert_allclose(said, run.predict_proba(tiny_images.examples.inputs), atol=1e-6)
    with pytest.raises(InputError, match=r"inputs have shape \[1, 4, 8\] each"):
        run.predict_proba(Counted(tiny_images.examples.inputs[:, :, :4]))
