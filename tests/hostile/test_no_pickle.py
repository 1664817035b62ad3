"""Nothing unpickles: a pickle is a program, and whoever loads one runs it."""

import ast
from pathlib import Path

import pytest

import noiselimit

PACKAGE = Path(noiselimit.__file__).parent
READERS_OF_PICKLES = {"data/cifar_python.py", "data/cifar10n.py"}
"""What asks the reader of our own, which runs nothing, for what is in a pickle."""
NEVER = {
    "pickle",
    "_pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "shelve",
    "marshal",
    "code",
    "codeop",
    "runpy",
}
CALLS = {"read_pickle", "to_pickle", "unpickle", "Unpickler"}
LOADERS = {"load", "loads", "Unpickler", "eval", "exec"}
FROM_JOBLIB = {"effective_n_jobs"}
FILES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def faults(source: str, file: str = "x.py") -> list[str]:
    """What in the file loads pickles or runs text."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            )
            found += [f"import {module}" for module in modules if module.split(".")[0] in NEVER]
            if isinstance(node, ast.ImportFrom) and not modules[0].startswith("noiselimit."):
                # Under a name of its own, a call would not be known.
                found += [f"{modules[0]}.{alias.name}" for alias in node.names if alias.name in LOADERS]
            if isinstance(node, ast.ImportFrom) and modules[0].split(".")[0] == "joblib":
                found += [f"joblib.{alias.name}" for alias in node.names if alias.name not in FROM_JOBLIB]
            found += [
                "import joblib" for module in modules if isinstance(node, ast.Import) and module == "joblib"
            ]
        if isinstance(node, ast.Call):
            found += _call(node, file)
    return found


def _call(node: ast.Call, file: str) -> list[str]:
    written = ast.unparse(node.func)
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    last = written.rpartition(".")[2]
    if last in CALLS and not (last == "read_pickle" and file in READERS_OF_PICKLES):
        return [written]
    if written in ("eval", "exec", "compile", "__import__"):
        return [written]
    if written in ("np.load", "numpy.load") and options.get("allow_pickle") != "False":
        return [f"{written} without allow_pickle=False"]
    if last in ("read_array", "load_npz") and options.get("allow_pickle") != "False":
        return [f"{written} without allow_pickle=False"]
    if written.startswith("torch.") and last in ("load", "package") and options.get("weights_only") != "True":
        return [f"{written} without weights_only=True"]
    if written == "torch.jit.load" or options.get("allow_pickle") == "True":
        return [written]
    return []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_file_of_the_package_loads_pickles_or_runs_text(path: Path) -> None:
    assert faults(path.read_text("utf-8"), name_of(path)) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import numpy as np; np.load(path)",
        "import numpy as np; np.load(path, allow_pickle=True)",
        "import torch; torch.load(path)",
        "import torch; torch.load(path, weights_only=False)",
        "import pandas as pd; pd.read_pickle(path)",
        "import joblib; joblib.load(path)",
        "from joblib import load",
        "from torch import load",
        "from numpy import load",
        "from torch.serialization import load as read",
        "eval(text)",
        "exec(text)",
    ],
)
def test_each_way_to_run_a_file_would_be_noticed(source: str) -> None:
    assert faults(source)


def test_the_named_exceptions_are_still_there() -> None:
    """Else the list of exceptions is longer than what it excepts."""
    used = {name_of(path) for path in FILES if "safe_pickle import" in path.read_text("utf-8")}
    assert used == READERS_OF_PICKLES
