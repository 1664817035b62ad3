"""Rows without a label: kept where an audit asks for them, refused everywhere else."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from noiselimit.data.catalogue import load_data
from noiselimit.data.examples import (
    DataSet,
    fill_labels,
    is_labelled,
    make_examples,
    require_labels,
    take_examples,
)
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError
from noiselimit.noise import as_noise
from noiselimit.runs.binding import bind
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train

KEEP = Reading(keep_unlabelled=True)
NAMED: list[Any] = ["b", None, "a", "", "a", "  ", "b", "a"]
NUMBERED: list[Any] = [1, None, 0, None, 0, None, 1, 0]
EXPECTED = [1, -1, 0, -1, 0, -1, 1, 0]


def frame(labels: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"x": np.arange(8.0), "label": labels, "weight": np.ones(8)})


@pytest.mark.parametrize("labels", [NAMED, NUMBERED], ids=["names", "numbers"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_keep_them_only_when_told(tmp_path: Path, ending: str, labels: list[Any]) -> None:
    path = tmp_path / f"table.{ending}"
    if ending == "csv":
        frame(labels).to_csv(path, index=False)
    else:
        frame(labels).to_parquet(path)
    data = load_data(path, reading=Reading(keep_unlabelled=True, weight="weight"))
    assert data.examples.labels.tolist() == EXPECTED
    assert data.examples.class_names == (("a", "b") if labels is NAMED else ("0", "1"))
    assert data.examples.inputs[:, 0].tolist() == list(range(8))
    with pytest.raises(InputError, match=r"column 'label' has no label in row 1; fill it in"):
        load_data(path)


@pytest.mark.parametrize("labels", [np.array(NUMBERED, float), np.array([n or "" for n in NAMED])])
def test_archives_keep_them_only_when_told(tmp_path: Path, labels: Any) -> None:
    path = tmp_path / "arrays.npz"
    np.savez(path, X=np.arange(16.0).reshape(8, 2), y=labels, weights=np.ones(8))
    assert load_data(path, reading=KEEP).examples.labels.tolist() == EXPECTED
    with pytest.raises(InputError, match=r"label in row 1 is (missing|  )"):
        load_data(path)


def test_what_else_is_wrong_is_said_with_its_own_row(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    np.savez(path, X=np.ones((4, 2)), y=np.array([np.nan, 0.0, 1.0, 0.5]))
    with pytest.raises(InputError, match=r"label in row 3 is 0\.5"):
        load_data(path, reading=KEEP)
    np.savez(path, X=np.ones((3, 2)), y=np.full(3, np.nan))
    with pytest.raises(InputError, match="there is no label at all"):
        load_data(path, reading=KEEP)
    np.savez(path, X=np.ones((3, 2)), y=np.array(["a", "", "a"]))
    with pytest.raises(InputError, match="only one class"):
        load_data(path, reading=KEEP)


def test_class_folders_may_be_told_to_keep_what_they_cannot_have(tmp_path: Path) -> None:
    Reading(keep_unlabelled=True).require_only((), "digits")
    assert len(load_data("digits", reading=KEEP).examples) == 1797


@pytest.fixture
def gappy(blobs: DataSet) -> DataSet:
    labels = blobs.examples.labels.copy()
    labels[[4, 9]] = -1
    examples = blobs.examples
    return DataSet("gappy", type(examples)(examples.inputs, labels, examples.class_names))


def test_everything_but_an_audit_refuses_them(gappy: DataSet) -> None:
    sentence = "2 examples have no label, the first of them in row 4, and only an audit can use such"
    for refuses in (
        lambda: require_labels(gappy.examples, "gappy"),
        lambda: bind(RunSpec(), gappy),
        lambda: train(RunSpec(epochs=1), gappy),
        lambda: as_noise("uniform:0.2").apply(gappy.examples, 0),
    ):
        with pytest.raises(InputError, match=sentence):
            refuses()
    with pytest.raises(InputError, match="row 1 is -1"):
        make_examples(np.ones((3, 2)), [0, -1, 1])


def test_a_missing_label_is_not_wrong_and_rows_are_taken_whole() -> None:
    examples = make_examples(
        np.arange(8.0).reshape(4, 2), [0, 1, 1, 0], clean_labels=[0, 0, 0, 0], weights=[1, 2, 3, 4]
    )
    gone = type(examples)(
        examples.inputs, np.array([0, -1, 1, 0]), examples.class_names, examples.clean_labels
    )
    assert gone.wrong is not None
    assert gone.wrong.tolist() == [False, False, True, False]
    assert is_labelled(gone).tolist() == [True, False, True, True]
    some = take_examples(examples, np.array([3, 1]))
    assert some.labels.tolist() == [0, 1]
    assert some.weights is not None
    assert some.weights.tolist() == [4, 2]
    assert some.inputs[:, 0].tolist() == [6, 2]


@pytest.mark.parametrize(
    "labels",
    [["a", None], np.array(["a", ""]), pd.Series(["a", pd.NA], dtype="string"), pd.Series([1.0, np.nan])],
)
def test_filling_says_what_it_filled(labels: Any) -> None:
    filled, missing = fill_labels(labels, "y")
    assert missing.tolist() == [False, True]
    assert filled[0] == filled[1]
