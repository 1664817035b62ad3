"""Every test has a folder of its own with good data, and no data folder, as on a fresh machine."""

from pathlib import Path

import pytest
from asked import write_good, write_run


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOISELIMIT_DATA", raising=False)
    write_good(tmp_path)


@pytest.fixture(scope="session")
def good_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the good table."""
    folder = tmp_path_factory.mktemp("run")
    write_good(folder)
    return write_run(folder)
