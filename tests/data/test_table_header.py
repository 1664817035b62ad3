"""The label column is missed before a table is read, and nothing else is complained about."""

from pathlib import Path

import pandas as pd
import pytest

from noiselimit.data.table_file import column_names, require_label
from noiselimit.errors import InputError

FRAME = pd.DataFrame({"a": [1, 2], "kind": ["x", "y;z"]})


def test_names_are_those_of_the_columns(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    FRAME.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    FRAME.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    FRAME.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "semicolons.csv", "t.tsv", "t.parquet"):
        found = column_names(tmp_path / name)
        assert found is not None
        assert found[:2] == ["a", "kind"]
        require_label(tmp_path / name, "kind")
        with pytest.raises(InputError, match=r"no column 'kid' but a, kind.*did you mean --label kind\?"):
            require_label(tmp_path / name, "kid")
        with pytest.raises(InputError, match="no column 'label'"):
            require_label(tmp_path / name, None)


def test_a_named_index_is_a_column(tmp_path: Path) -> None:
    FRAME.rename_axis("kinds").to_parquet(tmp_path / "t.parquet")
    require_label(tmp_path / "t.parquet", "kinds")


@pytest.mark.parametrize("name", ["bad.csv", "bad.parquet", "none.csv", "t.npz", "folder.csv"])
def test_what_is_no_table_is_left_to_those_who_read_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.csv").write_bytes(b"")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 or not")
    (tmp_path / "t.npz").touch()
    (tmp_path / "folder.csv").mkdir()
    assert column_names(tmp_path / name) is None
    require_label(tmp_path / name, None)
