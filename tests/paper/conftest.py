"""The paper's command line in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from paper.__main__ import main


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Run one command line in an empty folder; exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOISELIMIT_DATA", raising=False)

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        return (int(ended.value.code or 0), *capsys.readouterr())

    return call
