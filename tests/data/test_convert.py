"""Arrays and torch Datasets become a data set."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import IterableDataset, TensorDataset

from noiselimit.data.catalogue import as_data_set
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.errors import InputError

INPUTS = np.arange(12, dtype=np.float32).reshape(6, 2)
LABELS = np.array([0, 1, 2, 0, 1, 2])


def test_what_is_ready_stays_as_it_is():
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


class Stream(IterableDataset):
    def __iter__(self):
        return iter([(1, 2)])


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (INPUTS, r"^data of type ndarray cannot be used; give a DataSet"),
        (torch.tensor(INPUTS), "^data of type Tensor cannot be used"),
        (pd.DataFrame(INPUTS), "^data of type DataFrame cannot be used"),
        ({"X": INPUTS, "y": LABELS}, "^data of type dict cannot be used"),
        ("digits", "^data of type str cannot be used"),
        (None, "^data of type NoneType cannot be used"),
        (Stream(), "^data of type Stream cannot be used"),
        (TensorDataset(torch.tensor(INPUTS)), "^TensorDataset: item 0 is not a pair; return"),
        ([(INPUTS[0], 0), (INPUTS[1], 1, 2)], "^list: item 1 is not a pair"),
        (
            [(INPUTS[0], 0), (INPUTS[1, :1], 1)],
            r"^list: the input of item 1 has shape \[1\] but that of item 0 \[2\]",
        ),
        ([(INPUTS[0], 0), (INPUTS[1], None)], "^list: label in row 1 is missing"),
        ([(INPUTS[0], 0), (INPUTS[1], np.zeros(3))], "^list: label in row 1 has type ndarray"),
        ([], "^list: the Dataset is empty; give"),
        ((INPUTS, LABELS[:3]), "^arrays: there are 6 inputs but 3 labels"),
    ],
)
def test_what_is_no_data(value, sentence):
    with pytest.raises(InputError, match=sentence):
        as_data_set(value)


def test_the_data_and_noise_layers_import_neither_torch_nor_scikit_learn():
    code = (
        "import sys, noiselimit.data, noiselimit.noise, noiselimit.engine.preparation\n"
        "print('torch' in sys.modules, 'sklearn' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "False"]
