"""An audit of digits to review."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from noiselimit.audit.folder import open_audit
from noiselimit.cli.main import run
from noiselimit.review.session import Session

OPTIONS = (
    "--noise",
    "uniform:0.15",
    "--fast",
    "--epochs",
    "6",
    "--budget",
    "200",
    "--threads",
    "1",
    "--quiet",
)


@pytest.fixture(scope="session")
def audited_digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an audit that flags 200 digits; nobody writes to it."""
    folder = tmp_path_factory.mktemp("audits") / "digits"
    assert run(["audit", "digits", *OPTIONS, "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def digits_audit(audited_digits: Path, tmp_path: Path) -> Path:
    """A copy of its own, without decisions."""
    return Path(shutil.copytree(audited_digits, tmp_path / "digits"))


def opened(folder: Path) -> Iterator[Session]:
    session = Session(open_audit(folder))
    assert session.neighbours.wait(30)
    yield session
    session.close()


@pytest.fixture(scope="module")
def session(audited_digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A review of the digits in which nothing is decided."""
    yield from opened(Path(shutil.copytree(audited_digits, tmp_path_factory.mktemp("review") / "digits")))


@pytest.fixture
def own_session(digits_audit: Path) -> Iterator[Session]:
    """A review of the digits for one test."""
    yield from opened(digits_audit)
