"""A run predicts for arrays, lazy pictures and rows of a table; one setting is chosen for every problem."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from noiselimit import InputError, RunSpec, load_run, make_examples, train
from noiselimit.data.arrays import LazyInputs, View
from noiselimit.data.catalogue import load_data, load_unlabelled
from noiselimit.data.examples import DataSet
from noiselimit.noise import UniformNoise
from noiselimit.runs.run import DataInfo, Run, choose

COLOURS = ["grün", "", "blau"]


def rows(count: int = 90) -> pd.DataFrame:
    """Numbers on two scales and a colour, some of it missing, which predict the classes 1, 2 and 3."""
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


def test_a_table_is_encoded_as_in_training(tmp_path: Path) -> None:
    csv = tmp_path / "toys.csv"
    rows().to_csv(csv, index=False)
    spec = RunSpec("ce", epochs=8, batch_size=16, learning_rate=0.01)
    run = load_run(train(spec, load_data(csv), out=tmp_path / "runs")[0].path or "")
    assert run.data.table is not None
    assert run.metrics["test_accuracy"] > 0.9
    expected = run.predict_proba(load_unlabelled(csv, table=run.data.table).inputs)
    assert (expected.argmax(1) == rows()["label"] - 1).mean() > 0.9
    new = rows()[["noise", "colour", "größe"]].assign(more="x")
    np.testing.assert_allclose(run.predict_proba(new), expected, atol=1e-6)
    new.to_parquet(tmp_path / "new.parquet")
    again = run.predict_proba(load_unlabelled(tmp_path / "new.parquet", table=run.data.table).inputs)
    np.testing.assert_allclose(again, expected, atol=1e-6)
    with pytest.raises(InputError, match="'noise'"):
        run.predict_proba(rows()[["größe", "colour"]])
    with pytest.raises(InputError, match="empty"):
        run.predict_proba(rows(0))


class Counted(LazyInputs):
    """Pictures that count how many are read at once."""

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


def test_lazy_inputs_are_read_in_batches(tiny_images: DataSet) -> None:
    run = train(RunSpec("ce", epochs=1, batch_size=32), tiny_images)[0]
    pictures = np.asarray(tiny_images.examples.inputs)
    lazy = Counted(pictures)
    found = run.predict_proba(lazy, batch_size=7)
    assert lazy.most == 7
    np.testing.assert_allclose(found, run.predict_proba(pictures), atol=1e-6)
    with pytest.raises(InputError, match=r"\[1, 4, 8\]"):
        run.predict_proba(Counted(pictures[:, :, :4]))


@pytest.mark.parametrize(("trained", "given"), [(1.0, 1 / 179), (1 / 16, 1.0)])
def test_pictures_on_another_scale_are_refused(tiny_images: DataSet, trained: float, given: float) -> None:
    pictures = np.asarray(tiny_images.examples.inputs, np.float32)
    data = DataSet("scaled", make_examples(pictures * trained, tiny_images.examples.labels))
    (run,) = train(RunSpec("ce", epochs=1), data)
    assert len(run.predict_proba(pictures * trained)) == 61
    with pytest.raises(InputError, match="scale them alike"):
        run.predict_proba(pictures * given)


INFO = DataInfo("d", ("a", "b"), (2,), (0.0,), (1.0,), 1.0)


def make_run(
    beta: float, seed: int, accuracy: float, loss: float = 1.0, status: str = "finished", p: float = 0
) -> Run:
    metrics = {"validation_accuracy": accuracy, "validation_loss": loss, "status": status}
    return Run(RunSpec("limit-l", {"beta": beta}, seed=seed, noise=UniformNoise(p)), INFO, [], metrics)


def test_the_mean_over_seeds_decides() -> None:
    runs = [make_run(1, 0, 0.9), make_run(1, 1, 0.5), make_run(3, 0, 0.8), make_run(3, 1, 0.7)]
    assert choose(runs) == [False, False, True, True]


def test_ties_go_to_the_lower_loss_then_to_the_first() -> None:
    assert choose([make_run(1, 0, 0.8, 2.0), make_run(3, 0, 0.8, 1.0)]) == [False, True]
    assert choose([make_run(1, 0, 0.8), make_run(3, 0, 0.8)]) == [True, False]


def test_a_failed_run_disqualifies_its_setting() -> None:
    assert choose([make_run(1, 0, 0.9, status="failed"), make_run(3, 0, 0.1)]) == [False, True]
    assert choose([make_run(1, 0, 0.9, status="failed")]) == [False]
    assert choose([]) == []


def test_every_problem_chooses_for_itself() -> None:
    runs = [make_run(1, 0, 0.9), make_run(3, 0, 0.8), make_run(1, 0, 0.2, p=0.8), make_run(3, 0, 0.3, p=0.8)]
    assert choose(runs) == [True, False, False, True]
