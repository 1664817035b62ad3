"""Finding data by name or path, and turning what a Python user holds into a data set."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import IterableDataset, TensorDataset

from noiselimit.data import catalogue
from noiselimit.data.catalogue import as_data_set, load_data, load_unlabelled
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.errors import InputError

INPUTS = np.arange(12, dtype=np.float32).reshape(6, 2)
LABELS = np.array([0, 1, 2, 0, 1, 2])


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv("NOISELIMIT_DATA", raising=False)


@pytest.mark.parametrize("below", ["mnist", "."])
@pytest.mark.parametrize("by_variable", [True, False])
def test_named_data_are_found_below_the_data_folder_or_in_it(
    tmp_path, monkeypatch, write_idx_folder, below, by_variable
):
    images, _ = write_idx_folder(tmp_path / below)
    if by_variable:
        monkeypatch.setenv("NOISELIMIT_DATA", str(tmp_path))
    data = load_data("mnist", None if by_variable else tmp_path)
    assert data.name == "mnist"
    assert np.array_equal(data.examples.inputs[:, 0], images)


@pytest.mark.parametrize("data_dir", [None, "."])
def test_missing_data_name_the_remedies(tmp_path, monkeypatch, data_dir):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^mnist: .*--data-dir or NOISELIMIT_DATA"):
        load_data("mnist", data_dir)


def test_download_fills_the_folder_of_that_name_or_completes_the_one_there_is(
    tmp_path, monkeypatch, write_idx_folder
):
    filled = []

    def download(folder, progress):
        filled.append((folder, progress))
        write_idx_folder(folder)

    entry = replace(catalogue.DATA_SETS["mnist"], download=download)
    monkeypatch.setitem(catalogue.DATA_SETS, "mnist", entry)
    assert len(load_data("mnist", tmp_path, download=True, progress=print).examples) == 12
    assert len(load_data("mnist", tmp_path / "mnist", download=True).examples) == 12
    assert filled == [(tmp_path / "mnist", print), (tmp_path / "mnist", None)]


def test_a_folder_does_not_hide_a_known_name(tmp_path, monkeypatch):
    (tmp_path / "digits").mkdir()
    monkeypatch.chdir(tmp_path)
    assert len(load_data("digits").examples) == 1797


@pytest.mark.parametrize("load", [load_data, load_unlabelled])
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("mnits", "'mnist'"),
        ("quokka", "cifar10, "),
        ("absent.npz", r"^absent\.npz: "),
        ("some/where", "^some/where: "),
        ("table.xls", r"^table\.xls: .*\.csv"),
        ("empty", "^empty: .*idx"),
        ("", "cifar10, "),
    ],
)
def test_what_is_not_a_data_set(tmp_path, monkeypatch, load, text, word):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.xls").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=word):
        load(text)


def test_inputs_to_predict_for(tmp_path, write_idx_folder):
    images, _ = write_idx_folder(tmp_path / "mnist")
    assert np.array_equal(load_unlabelled("mnist", tmp_path).inputs[:, 0], images)
    assert np.array_equal(load_unlabelled(tmp_path / "mnist").inputs[:, 0], images)
    assert np.array_equal(load_unlabelled("mnist", tmp_path, test=True).inputs[:, 0], images[:6])
    np.savez(tmp_path / "unlabelled.npz", inputs=INPUTS)
    assert np.array_equal(load_unlabelled(tmp_path / "unlabelled.npz").inputs, INPUTS)
    with pytest.raises(InputError, match="--test"):
        load_unlabelled("digits", test=True)


def test_data_sets_and_examples_stay_as_they_are():
    examples = make_examples(INPUTS, LABELS)
    data = DataSet("toys", examples)
    assert as_data_set(data) is data
    assert as_data_set(examples).examples is examples


@pytest.mark.parametrize(
    "value",
    [
        (INPUTS, LABELS),
        (INPUTS.tolist(), LABELS.tolist()),
        (torch.tensor(INPUTS), torch.tensor(LABELS)),
        (pd.DataFrame(INPUTS), pd.Series(LABELS)),
        TensorDataset(torch.tensor(INPUTS), torch.tensor(LABELS)),
        list(zip(INPUTS, LABELS, strict=True)),
    ],
)
def test_every_form_gives_the_same_examples(value):
    assert as_data_set(value).fingerprint == DataSet("", make_examples(INPUTS, LABELS)).fingerprint


def test_pictures_and_names_from_a_dataset():
    pictures = [(np.full((6, 5, 3), number, np.uint8), name) for number, name in enumerate("baab")]
    examples = as_data_set(pictures).examples
    assert examples.inputs.shape == (4, 3, 6, 5)
    assert examples.inputs[:, 0, 0, 0].tolist() == [0, 1, 2, 3]
    assert examples.class_names == ("a", "b")
    assert examples.labels.tolist() == [1, 0, 0, 1]


def test_a_frame_with_names_is_encoded_as_a_table():
    data = as_data_set((pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"]}), ["p", "q", "p"]))
    assert data.table is not None
    assert data.examples.inputs.tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]


class Stream(IterableDataset):
    def __iter__(self):
        return iter([(1, 2)])


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (INPUTS, "ndarray"),
        (torch.tensor(INPUTS), "Tensor"),
        (pd.DataFrame(INPUTS), "DataFrame"),
        ({"X": INPUTS, "y": LABELS}, "dict"),
        ("digits", "str"),
        (None, "NoneType"),
        (Stream(), "Stream"),
        (TensorDataset(torch.tensor(INPUTS)), "item 0"),
        ([(INPUTS[0], 0), (INPUTS[1], 1, 2)], "item 1"),
        ([(INPUTS[0], 0), (INPUTS[1, :1], 1)], "array"),
        ([(INPUTS[0], 0), (INPUTS[1], None)], "row 1"),
        ([], "empty"),
        ((INPUTS, LABELS[:3]), "3 labels"),
    ],
)
def test_what_cannot_be_data(value, word):
    with pytest.raises(InputError, match=word):
        as_data_set(value)
