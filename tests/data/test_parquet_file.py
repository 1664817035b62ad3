"""Tables come back as they were written, however often a text is repeated."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data import parquet as parquet_pages
from noiselimit.data.parquet import Chunk, Page, RowGroup, pages, read_parquet, row_groups
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


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", [None, "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_every_encoding_of_texts(tmp_path, version, encoding, compression):
    texts = [None if row % 7 == 0 else f"name {row // 3}" for row in range(5000)]
    table = pyarrow.table(
        {"x": range(5000), "text": texts, "view": pyarrow.array(texts, pyarrow.string_view())}
    )
    how = {} if encoding is None else {"column_encoding": {"text": encoding}}
    pyarrow.parquet.write_table(
        table,
        tmp_path / "a.parquet",
        row_group_size=2000,
        data_page_size=4096,
        use_dictionary=encoding is None,
        data_page_version=version,
        compression=compression,
        **how,
    )
    assert read_parquet(tmp_path / "a.parquet").equals(table)
    groups = row_groups(tmp_path / "a.parquet")
    unpacked = sum(page.unpacked for *_, page in pages(tmp_path / "a.parquet", groups))
    metadata = pyarrow.parquet.read_metadata(tmp_path / "a.parquet")
    told = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    total = sum(group.total_byte_size for group in told)  # which counts the headers too
    assert 0.9 * total < unpacked < total
    assert groups == [
        RowGroup(group.num_rows, tuple(chunk_told(group.column(place)) for place in range(3)))
        for group in told
    ]


def chunk_told(told: pyarrow.parquet.ColumnChunkMetaData) -> Chunk:
    """What pyarrow says, which it does for whole files."""
    start = told.dictionary_page_offset or told.data_page_offset
    return Chunk(start, told.total_compressed_size, told.num_values)


def test_headers_of_pages_that_are_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": range(100)}), path, use_dictionary=False)
    groups = row_groups(path)
    whole = path.read_bytes()
    (page,) = (page for *_, page in pages(path, groups))
    assert page == Page(unpacked=page.unpacked, encoding=0, values=100)
    for header in (
        b"\x15\x00\x15\x01\x15\x02\x00",  # sizes below 0
        b"\x15\x00\x15\x02\x05\x04\x02\x15\x02\x00",  # a field twice
        b"\x15\x00\x15\x02\x05\x84\x80\x08\x02\x15\x02\x00",  # the same field beyond 16 bits
        b"\x1b\x00",  # a map
        b"\x1c" * 12,  # structs without end
        b"\x15\x00\x15" + b"\xff" * 12,  # a number without end
        b"\x15\x00\x00",  # no sizes
    ):
        path.write_bytes(whole[:4] + header + whole[4 + len(header) :])
        with pytest.raises(ValueError, match="pages is damaged"):
            list(pages(path, groups))


def test_pages_without_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_pages, "MOST_PAGES", 3)
    pyarrow.parquet.write_table(pyarrow.table({"a": range(100)}), tmp_path / "a.parquet", row_group_size=20)
    with pytest.raises(ValueError, match="more than 3 pages"):
        read_parquet(tmp_path / "a.parquet")


def test_pandas_notes_are_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 7, 9]}).set_index("b")
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet").schema.pandas_metadata["index_columns"] == ["b"]


def test_columns_of_lists_are_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"a": [[1, 2]]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"column 'a' has type list<element: int64>; give numbers or text"):
        read_parquet(tmp_path / "a.parquet")
    arrays = pyarrow.FixedShapeTensorArray.from_numpy_ndarray(np.zeros((4, 3)))
    pyarrow.parquet.write_table(pyarrow.table({"a": arrays}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"column 'a' has type extension<.*; give numbers or text"):
        read_parquet(tmp_path / "a.parquet")


def test_pages_that_are_missing(tmp_path: Path) -> None:
    """A column that says it ends before its pages do; of old writers pyarrow would read on."""
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": range(100)}), path, use_dictionary=False)
    whole = path.read_bytes()
    pages_of = pyarrow.parquet.read_metadata(path).row_group(0).column(0)
    size = zigzag(pages_of.total_compressed_size)
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    place = whole.index(b"\x16" + size, footer)
    path.write_bytes(whole[: place + 1] + zigzag(0, len(size)) + whole[place + 1 + len(size) :])
    with pytest.raises(ValueError, match="pages of a column are missing"):
        read_parquet(path)


def zigzag(number: int, length: int = 0) -> bytes:
    """As Thrift writes a number ≥ 0, in so many bytes at least."""
    digits = []
    number *= 2
    while number or not digits or len(digits) < length:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits[-1] &= 0x7F
    return bytes(digits)
