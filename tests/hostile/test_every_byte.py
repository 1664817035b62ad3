"""A Parquet file in which any one byte is another is read or refused, and never ends the process."""

from collections import Counter
from pathlib import Path

import every_byte
import pyarrow
import pyarrow.parquet
import pytest
from every_byte import changed, outcomes
from fuzzing import SOURCE


def test_every_byte_of_a_parquet_file(tmp_path: Path) -> None:
    """With the statistics of sizes that pyarrow writes by itself."""
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"x": [1.5, 2.0, -1.0, 4.0], "t": ["a", "b", None, "a"], "label": list("uvuv")})
    pyarrow.parquet.write_table(table, path, store_schema=False)
    found = outcomes(path, tmp_path)
    strange = [(case, said) for case, said in enumerate(found) if said not in ("read", "refused")]
    assert strange == []
    assert Counter(found)["refused"] > Counter(found)["read"] > 100
    assert len(found) == sum(1 for _ in changed(path.read_bytes()))


def test_a_case_that_ends_its_process_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the process reads every case but the second."""
    (tmp_path / "worker.py").write_text(
        "import os, sys\n"
        "for number in range(int(sys.argv[3]), 10):\n"
        "    if number == 1:\n        os.abort()\n"
        "    print('\"read\"', flush=True)\n"
    )
    (tmp_path / "two-bytes").write_bytes(b"ab")
    monkeypatch.setattr(every_byte, "__file__", str(tmp_path / "worker.py"))
    first, second, *others = outcomes(tmp_path / "two-bytes", tmp_path)
    assert second.startswith("process ended (-6)")
    assert [first, *others] == ["read"] * 9


def test_pyarrow_is_not_asked_about_columns_of_files() -> None:
    """What does not fit there throws where nothing catches it; data/parquet_footer.py reads it."""
    sources = {path.name: path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    assert "parquet.py" in sources
    assert [name for name, source in sources.items() if ".row_group(" in source] == []
