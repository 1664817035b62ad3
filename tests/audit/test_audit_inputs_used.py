"""What networks were shown, in words."""

import numpy as np
import pandas as pd
import pytest

from noiselimit.audit.report import inputs_used
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.table_file import frame_data_set

LABELS = [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [1, 2, 3, 4]}, "1 column of numbers"),
        ({"a": [1, 2, 3, 4], "b": [0.5, 1, 2, 3]}, "2 columns of numbers"),
        ({"c": list("uvwu")}, "1 column of categories as 3 features"),
        ({"c": list("uvwu"), "d": list("uuuu")}, "2 columns of categories as 4 features"),
        (
            {"a": [1, 2, 3, 4], "c": list("uvwu"), "d": [True, False, None, True]},
            "3 columns (1 of numbers, 2 of categories as 6 features)",
        ),
    ],
)
def test_tables(columns: dict[str, list[object]], words: str) -> None:
    assert inputs_used(frame_data_set(pd.DataFrame(columns), LABELS)) == words


@pytest.mark.parametrize(
    ("shape", "words"), [((64,), "64 numbers"), ((1,), "1 number"), ((3, 48, 40), "pictures 3×48×40")]
)
def test_arrays(shape: tuple[int, ...], words: str) -> None:
    inputs = np.random.default_rng(0).random((4, *shape), dtype=np.float32)
    assert inputs_used(DataSet("some", make_examples(inputs, LABELS))) == words
