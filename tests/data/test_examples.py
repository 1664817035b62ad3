"""Examples and data sets: checks, fingerprints and missing labels."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from noiselimit.data.catalogue import load_data
from noiselimit.data.examples import (
    DataSet,
    is_labelled,
    make_examples,
    require_labels,
    take_examples,
)
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError

INPUTS = np.arange(12, dtype=np.float32).reshape(6, 2)
LABELS = np.array([0, 1, 2, 0, 1, 2])


def test_properties() -> None:
    examples = make_examples(INPUTS, LABELS, clean_labels=[0, 1, 2, 0, 2, 1])
    assert (len(examples), examples.classes, examples.input_shape) == (6, 3, (2,))
    assert examples.class_names == ("0", "1", "2")
    assert examples.wrong is not None
    assert examples.wrong.tolist() == [False, False, False, False, True, True]
    assert make_examples(INPUTS, LABELS).wrong is None


def test_string_labels_take_the_order_of_the_names() -> None:
    examples = make_examples(INPUTS, list("abcabc"), class_names=["c", "b", "a"], clean_labels=list("cccccc"))
    assert examples.labels.tolist() == [2, 1, 0, 2, 1, 0]
    assert examples.clean_labels is not None
    assert examples.clean_labels.tolist() == [0] * 6


@pytest.mark.parametrize(
    ("labels", "options", "word"),
    [
        (LABELS[:5], {}, "5 labels"),
        (LABELS, {"clean_labels": LABELS[:2]}, "2 clean labels"),
        (LABELS, {"clean_labels": LABELS - 1}, "clean label in row 0"),
        (LABELS, {"clean_labels": LABELS + 1}, "clean label in row 2"),
        (LABELS, {"label_sets": {"other": LABELS + 1}}, "other label in row 2"),
        (LABELS * 2, {}, "class 1"),
        (LABELS * 0, {}, "only one class"),
        (LABELS, {"class_names": ["a", "b"]}, "row 2 is 2"),
        (LABELS, {"class_names": "abcd"}, r"class 3 \('d'\)"),
        (LABELS, {"class_names": ["a", "b", "a"]}, "'a' twice"),
        (LABELS, {"class_names": ["a", "b", 3]}, "class_names"),
        (LABELS, {"class_names": ["a", "b", ""]}, "class_names"),
        (LABELS, {"weights": [1, 2]}, "weights"),
        (LABELS, {"weights": [1, 2, 3, 4, 5, -1]}, "weight in row 5"),
        (LABELS, {"weights": [0] * 6}, "weights are 0"),
    ],
)
def test_what_cannot_be_examples(labels: Any, options: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=f"^file: .*{word}"):
        make_examples(INPUTS, labels, source="file", **options)


def test_fingerprints_depend_on_content_only() -> None:
    examples = make_examples(INPUTS, LABELS)
    assert examples.fingerprint == make_examples(INPUTS.astype(np.float64), LABELS.tolist()).fingerprint
    others = [
        make_examples(INPUTS + 1, LABELS),
        make_examples(INPUTS, LABELS[::-1]),
        make_examples(INPUTS, LABELS, class_names="abc"),
        make_examples(INPUTS, LABELS, clean_labels=LABELS),
        make_examples(INPUTS, LABELS, weights=np.ones(6)),
        make_examples(INPUTS, LABELS, label_sets={"a": LABELS}),
        replace(examples, inputs=INPUTS.reshape(6, 2, 1, 1)),
        replace(examples, inputs=INPUTS.view(np.int32)),
    ]
    assert len({other.fingerprint for other in [examples, *others]}) == 9


def test_fingerprints_of_the_first_version() -> None:
    examples = make_examples(INPUTS, LABELS, clean_labels=LABELS[::-1], weights=LABELS)
    assert examples.fingerprint == FINGERPRINTS[0]
    assert DataSet("a", examples, make_examples(INPUTS, LABELS)).fingerprint == FINGERPRINTS[1]


FINGERPRINTS = ("1dc2eb3b8688ff271b9d7b07cbc24d01", "59645a89ecd62445fe0d6b2340de2d3c")


def test_the_fingerprint_of_a_data_set_covers_all_parts_but_not_the_name() -> None:
    examples, other = make_examples(INPUTS, LABELS), make_examples(INPUTS + 1, LABELS)
    assert DataSet("a", examples).fingerprint == DataSet("b", examples).fingerprint
    data_sets = [
        DataSet("a", examples),
        DataSet("a", examples, other),
        DataSet("a", other, examples),
        DataSet("a", examples, other, validation=other),
    ]
    assert len({data.fingerprint for data in data_sets}) == 4


def test_parts_must_have_the_same_form() -> None:
    train = make_examples(INPUTS, LABELS, class_names="abc")
    for test in (
        make_examples(INPUTS[:, :1], LABELS, class_names="abc"),
        make_examples(INPUTS, LABELS, class_names="abd"),
    ):
        with pytest.raises(InputError, match=r"^toys: the test part"):
            DataSet("toys", train, test)
    few = make_examples(INPUTS[:2], [0, 1], class_names="abc", may_lack_classes=True)
    assert DataSet("toys", train, few).test is few


def test_parts_must_have_the_same_range_of_values() -> None:
    pictures = np.full((6, 4, 4), 200, np.uint8)
    train, fractions = (make_examples(part, LABELS) for part in (pictures, pictures / 255))
    with pytest.raises(InputError, match="up to 255"):
        DataSet("toys", train, fractions)
    larger = make_examples(pictures.astype(np.int32) + 99, LABELS)
    assert DataSet("toys", larger, train).test is train  # float32 and uint8, but the same range


KEEP = Reading(keep_unlabelled=True)
NAMED: list[Any] = ["b", None, "a", "", "a", "  ", "b", "a"]
NUMBERED: list[Any] = [1, None, 0, None, 0, None, 1, 0]
EXPECTED = [1, -1, 0, -1, 0, -1, 1, 0]


@pytest.mark.parametrize("labels", [NAMED, NUMBERED], ids=["names", "numbers"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_keep_unlabelled_rows_only_on_request(tmp_path: Path, ending: str, labels: list[Any]) -> None:
    path = tmp_path / f"table.{ending}"
    frame = pd.DataFrame({"x": np.arange(8.0), "label": labels})
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    data = load_data(path, reading=KEEP)
    assert data.examples.labels.tolist() == EXPECTED
    assert data.examples.class_names == (("a", "b") if labels is NAMED else ("0", "1"))
    assert data.examples.inputs[:, 0].tolist() == list(range(8))
    with pytest.raises(InputError, match="row 1"):
        load_data(path)


@pytest.mark.parametrize("labels", [np.array(NUMBERED, float), np.array([n or "" for n in NAMED])])
def test_archives_keep_unlabelled_rows_only_on_request(tmp_path: Path, labels: Any) -> None:
    path = tmp_path / "arrays.npz"
    np.savez(path, X=np.arange(16.0).reshape(8, 2), y=labels)
    assert load_data(path, reading=KEEP).examples.labels.tolist() == EXPECTED
    with pytest.raises(InputError, match="row 1"):
        load_data(path)


@pytest.mark.parametrize(
    ("labels", "word"),
    [
        (np.array([np.nan, 0.0, 1.0, 0.5]), "row 3"),
        (np.full(4, np.nan), "missing"),
        (np.array(["a", "", "a", "a"]), "one class"),
    ],
)
def test_other_mistakes_are_found_beside_missing_labels(labels: np.ndarray, word: str) -> None:
    with pytest.raises(InputError, match=word):
        make_examples(np.ones((4, 2)), labels, keep_unlabelled=True)


def test_missing_labels() -> None:
    whole = make_examples(
        np.arange(8.0).reshape(4, 2), [0, 1, 1, 0], clean_labels=[0, 0, 0, 0], weights=[1, 2, 3, 4]
    )
    gappy = replace(whole, labels=np.array([0, -1, 1, 0]))
    assert gappy.wrong is not None
    assert gappy.wrong.tolist() == [False, False, True, False]
    assert is_labelled(gappy).tolist() == [True, False, True, True]
    require_labels(whole, "whole")
    with pytest.raises(InputError, match=r"^gappy: 1 .*row 1"):
        require_labels(gappy, "gappy")
    some = take_examples(whole, np.array([3, 1]))
    assert some.labels.tolist() == [0, 1]
    assert some.weights is not None
    assert some.weights.tolist() == [4, 2]
    assert some.inputs[:, 0].tolist() == [6, 2]
