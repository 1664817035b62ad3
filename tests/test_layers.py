"""Lower layers know nothing of higher ones; this keeps a method on one page and its neighbours out."""

import ast
from pathlib import Path

import pytest

import noiselimit

PACKAGE = Path(noiselimit.__file__).parent

LAYERS = [
    {"errors", "temporaries", "finite"},
    {"opening", "files", "machine", "randomness", "registry", "information", "automatic"},
    {"locks"},
    {"data"},
    {"noise", "split", "hold_out"},
    {"draws", "kernels"},
    {"methods", "networks", "optimisers", "schedules", "samplers", "augmentation", "report"},
    {"spec", "loss", "meter"},
    {"binding", "grids"},
    {"cohort"},
    {"checkpoints"},
    {"runs"},
    {"training", "predictions", "exact"},
    {"run_report"},
    {"audit"},
    {"demo", "bench"},
    {"reproduce"},
    {"cli", "estimator"},
    {"__main__"},
    {"__main__"},
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
WITHOUT_TORCH = {
    "errors",
    "temporaries",
    "opening",
    "files",
    "locks",
    "machine",
    "randomness",
    "automatic",
    "data",
    "noise",
    "split",
    "hold_out",
    "report",
    "information",
}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__")


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Every module that the file imports anywhere, inside functions too; type-checking imports as well."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_own_layer_or_below(path: Path) -> None:
    own = layer_of(path)
    for name in imported(path):
        if name.startswith("noiselimit."):
            other = name.split(".")[1]
            assert other == own or HEIGHT[other] < HEIGHT[own], f"{own} imports {name}"
        if own in WITHOUT_TORCH:
            assert name.split(".")[0] != "torch", f"{own} is free of torch"


def test_importing_the_package_is_light() -> None:
    import subprocess
    import sys

    check = "import noiselimit, sys; sys.exit(any(m in sys.modules for m in ('torch', 'numpy', 'pandas')))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
