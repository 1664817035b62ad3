"""The architecture: who may import whom, what stays free of torch, how long functions and files may be."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "noiselimit"
FILES = sorted(SOURCE.rglob("*.py"))
LAYERS = [  # from low to high: a module may import its own layer and those below
    {"errors", "fields", "machine", "randomness"},
    {"dotted", "files"},
    {"registry"},
    {"information"},
    {"data", "features.cache", "features.texts", "tasks"},
    {"noise"},
    {"methods", "networks"},
    {"runs.known", "runs.spec"},
    {"engine"},
    {"features"},
    {"runs"},
    {"loss", "progress", "training", "integrations.clusters", "integrations.tasks"},
    {"report"},
    {"audit"},
    {"review"},
    {"estimator", "integrations", "regressor", "testing"},
    {"__init__"},
    {"cli"},
    {"__main__"},
]
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}
MOST_LINES, MOST_LINES_IN_A_FILE = 60, 450


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "noiselimit":
            yield from (f"noiselimit.{alias.name}" for alias in node.names if alias.name != "__version__")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write absolute imports"
            yield str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def level(module: str) -> int:
    """The layer of a module such as runs.spec, or of its package."""
    return LEVELS.get(module, LEVELS[module.partition(".")[0]])


def test_imports_point_downwards() -> None:
    for path in FILES:
        own = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for module in imported(path):
            package, _, rest = module.partition(".")
            assert package not in ("paper", "benchmarks", "tests"), own
            if package == "noiselimit" and rest:
                assert level(rest) <= level(own), f"{own} must not import {module}"


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    start = function.body[0].end_lineno if ast.get_docstring(function) else function.lineno - 1
    return (function.end_lineno or 0) - (start or 0)


def test_functions_are_short() -> None:
    functions = [
        (f"{path.relative_to(SOURCE)}: {node.name}", length(node))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert [(name, lines) for name, lines in functions if lines > MOST_LINES] == []


def test_files_are_chapters() -> None:
    lines = {path.name: len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES_IN_A_FILE} == {}


def test_theory_data_and_the_command_line_start_without_torch_and_scikit_learn() -> None:
    script = "import sys, noiselimit.{}; sys.exit(bool({{'torch', 'sklearn'}} & {{*sys.modules}}))"
    for module in ("information", "data.catalogue", "noise", "methods", "runs.spec", "cli.main"):
        assert subprocess.run([sys.executable, "-c", script.format(module)], check=False).returncode == 0, (
            module
        )
