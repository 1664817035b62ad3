"""A run predicts for arrays, lazy pictures and rows of a table; one setting is chosen for every problem."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from noiselimit import InputError, RunSpec, load_run, make_examples, train
from noiselimit.data.catalogue import load_data, load_unlabelled
from noiselimit.data.examples import DataSet
from noiselimit.noise import UniformNoise
from noiselimit.runs.run import DataInfo, Run, choose
from tests.engine.streamed_pictures import StreamedPictures

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


def test_lazy_inputs_are_read_in_batches(tiny_images: DataSet) -> None:
    run = train(RunSpec("ce", epochs=1, batch_size=32), tiny_images)[0]
    pictures = np.asarray(tiny_images.examples.inputs)
    lazy = StreamedPictures(pictures)
    found = run.predict_proba(lazy, batch_size=7)
    assert lazy.most == 7
    np.testing.assert_allclose(found, run.predict_proba(pictures), atol=1e-6)
    with pytest.raises(InputError, match=r"\[1, 4, 8\]"):
        run.predict_proba(StreamedPictures(pictures[:, :, :4]))


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


@pytest.mark.parametrize(
    ("runs", "chosen"),
    [
        (
            [(1, 0, 0.9), (1, 1, 0.5), (3, 0, 0.8), (3, 1, 0.7)],
            [False, False, True, True],
        ),  # means
        ([(1, 0, 0.8, 2.0), (3, 0, 0.8, 1.0)], [False, True]),  # a tie: the lower loss
        ([(1, 0, 0.8), (3, 0, 0.8)], [True, False]),  # then the first
        ([(1, 0, 0.9, 1.0, "failed"), (3, 0, 0.1)], [False, True]),
        ([(1, 0, 0.9, 1.0, "failed")], [False]),
        ([], []),
        (
            [(1, 0, 0.9), (3, 0, 0.8), (1, 0, 0.2, 1.0, "finished", 0.8), (3, 0, 0.3, 1.0, "finished", 0.8)],
            [True, False, False, True],  # every problem for itself
        ),
    ],
)
def test_the_best_setting_is_chosen(runs: list[tuple[Any, ...]], chosen: list[bool]) -> None:
    assert choose([make_run(*values) for values in runs]) == chosen
