"""Writes a user's modules into files, so that tests can name them by dotted path."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Write = Callable[[str], str]


@pytest.fixture
def write_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a module into the working folder, which `sys.path` does not contain; return its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    known = set(sys.modules)

    def write(text: str) -> str:
        name = f"user_{len(list(tmp_path.glob('*.py')))}"
        (tmp_path / f"{name}.py").write_text(f"import torch\nfrom torch import nn\n\n{text}", "utf-8")
        importlib.invalidate_caches()
        return name

    yield write
    for name in set(sys.modules) - known:
        if name.startswith("user_"):
            del sys.modules[name]
