"""Tables come back as they were written, however often a text is repeated."""

from pathlib import Path

import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.parquet import read_parquet
from noiselimit.errors import InputError


@given(
    texts=st.lists(st.one_of(st.none(), st.text(max_size=5)), min_size=1, max_size=30),
    number=st.one_of(st.none(), st.floats(allow_nan=False)),
    large=st.booleans(),
    rows=st.integers(1, 8),
)
def test_what_pyarrow_wrote(tmp_path_factory, texts, number, large, rows):
    path = tmp_path_factory.mktemp("parquet") / "a.parquet"
    table = pyarrow.table(
        {
            "text": pyarrow.array(texts, pyarrow.large_string() if large else pyarrow.string()),
            "bytes": pyarrow.array([None if text is None else text.encode() for text in texts]),
            "number": pyarrow.array([number] * len(texts), pyarrow.float64()),
            "kind": pyarrow.array(texts, pyarrow.string()).dictionary_encode(),
        }
    )
    pyarrow.parquet.write_table(table, path, row_group_size=rows)
    found = read_parquet(path)
    assert found.schema == table.schema
    assert found.to_pydict() == table.to_pydict()


def test_pandas_notes_are_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 7, 9]}).set_index("b")
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet").schema.pandas_metadata["index_columns"] == ["b"]


def test_columns_of_lists_are_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"a": [[1, 2]]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"column 'a' has type list<element: int64>; give numbers or text"):
        read_parquet(tmp_path / "a.parquet")
