"""Somebody else's modules, written into files of their own so that they can be found by dotted path."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Write = Callable[[str], str]


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a module into the working folder, which `sys.path` does not name; returns the module's name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    known = set(sys.modules)

    def write(text: str) -> str:
        name = f"theirs_{len(list(tmp_path.glob('*.py')))}"
        (tmp_path / f"{name}.py").write_text(f"import torch\nfrom torch import nn\n\n{text}", "utf-8")
        importlib.invalidate_caches()
        return name

    yield write
    for name in set(sys.modules) - known:
        if name.startswith("theirs_"):
            del sys.modules[name]
