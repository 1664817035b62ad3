"""Objects of other libraries give the same data as arrays and frames do."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from PIL import Image
from scipy import sparse
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset

from noiselimit.data import memory
from noiselimit.data.catalogue import as_data_set
from noiselimit.data.memory import from_memory
from noiselimit.errors import InputError

INPUTS = np.arange(12, dtype=np.float32).reshape(6, 2)
LABELS = np.array([0, 1, 2, 0, 1, 2])
PAIRS = TensorDataset(torch.tensor(INPUTS), torch.tensor(LABELS))
FRAME = pd.DataFrame({"a": [1.5, 2, 3, 4], "b": ["x", "y", "x", "y"]})
NAMES = ["p", "q", "q", "p"]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(PAIRS)


@pytest.mark.parametrize(
    "value",
    [
        (sparse.csr_array(INPUTS.astype(float)), LABELS),
        (sparse.coo_matrix(INPUTS), LABELS),
        DataLoader(PAIRS, batch_size=4, shuffle=True),
        DataLoader(Stream(), batch_size=4),
        DataLoader(Stream(), batch_size=None),
        Subset(PAIRS, range(6)),
    ],
)
def test_same_data_as_from_arrays(value):
    assert as_data_set(value).fingerprint == as_data_set((INPUTS, LABELS)).fingerprint


def test_a_subset_keeps_only_its_rows():
    assert len(as_data_set(DataLoader(Subset(PAIRS, range(3)))).examples) == 3


def test_polars():
    polars = pytest.importorskip("polars")
    frame, labels = polars.DataFrame(FRAME.to_dict("list")), polars.Series("y", NAMES)
    expected = as_data_set((FRAME, NAMES)).fingerprint
    assert as_data_set((frame, labels)).fingerprint == expected
    assert as_data_set((frame.lazy(), labels)).fingerprint == expected
    assert as_data_set((frame, labels.to_frame())).fingerprint == expected


def test_pyarrow():
    table = pa.table({**FRAME.to_dict("list"), "y": NAMES})
    found = as_data_set((table.select(["a", "b"]), table["y"]))
    assert found.fingerprint == as_data_set((FRAME, NAMES)).fingerprint


def test_datasets_of_texts():
    texts = ["good", "bad", "fine", "poor"]
    pairs = list(zip(texts, NAMES, strict=True))
    for value in (pairs, DataLoader(pairs, batch_size=3)):
        frame, labels = from_memory(value)
        assert (frame["text"].tolist(), labels) == (texts, NAMES)


@pytest.mark.parametrize("form", [np.array, torch.tensor, np.ndarray.tolist, pd.DataFrame])
def test_missing_numbers_in_a_matrix_become_the_median_and_a_flag(form):
    inputs = INPUTS.copy()
    inputs[[1, 4], 1] = np.nan
    data = as_data_set((form(inputs), LABELS))
    assert data.examples.inputs[:3].tolist() == [[0, 1, 0], [2, 6, 1], [4, 5, 0]]
    assert data.table.is_matrix
    assert data.table.encode_new(form(inputs[:2]), "new").tolist() == [[0, 1, 0], [2, 6, 1]]
    assert data.table.encode_new(data.examples.inputs, "new") is data.examples.inputs
    inputs[0] = np.inf
    with pytest.raises(InputError, match="row 0"):
        as_data_set((form(inputs), LABELS))


def test_hugging_face_tables():
    datasets = pytest.importorskip("datasets")
    kinds = {"a": datasets.Value("float64"), "b": datasets.Value("string")}
    kinds["labels"] = datasets.ClassLabel(names=["q", "p"])
    columns = {**FRAME.to_dict("list"), "labels": NAMES}
    table = datasets.Dataset.from_dict(columns, features=datasets.Features(kinds))
    expected = as_data_set((FRAME, NAMES)).fingerprint
    assert as_data_set(table).fingerprint == expected
    assert as_data_set((table, NAMES)).fingerprint == expected  # the label column is no input
    with pytest.raises(InputError, match="rename_column"):
        as_data_set(table.remove_columns("labels"))
    with pytest.raises(InputError, match="train"):
        as_data_set(datasets.DatasetDict({"train": table}))


def test_hugging_face_images():
    datasets = pytest.importorskip("datasets")
    images = [Image.new("RGB", (5, 4), (shade, 0, 0)) for shade in range(4)]
    kinds = datasets.Features({"image": datasets.Image(), "label": datasets.Value("string")})
    pictures = datasets.Dataset.from_dict({"image": images, "label": NAMES}, features=kinds)
    assert as_data_set(pictures).fingerprint == as_data_set((images, NAMES)).fingerprint
    with pytest.raises(InputError, match="'extra'"):
        as_data_set(pictures.add_column("extra", [1, 2, 3, 4]))


def test_lists_of_pictures():
    images = [Image.new("L", (5, 4), shade) for shade in (1, 2)]
    assert from_memory(images, ["p", "q"])[0].shape == (2, 1, 4, 5)
    images[1] = images[1].convert("P")
    inputs = as_data_set((images, ["p", "q"])).examples.inputs
    assert inputs.shape == (2, 3, 4, 5)
    assert inputs[:, :, 0, 0].tolist() == [[1, 1, 1], [2, 2, 2]]
    with pytest.raises(InputError, match="6 × 4"):
        as_data_set(([images[0], Image.new("L", (6, 4))], ["p", "q"]))


def test_a_sparse_matrix_must_fit(monkeypatch):
    monkeypatch.setattr(memory, "LARGEST_DENSE", 40)
    with pytest.raises(InputError, match="TruncatedSVD"):
        as_data_set((sparse.csr_array(INPUTS), LABELS))
