"""The wheel has the whole package and nothing else, and the command works from it."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import noiselimit

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, because setuptools leaves files beside the sources."""
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("wheels")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for folder in ("src", "docs", "paper", "benchmarks", "tests"):
        shutil.copytree(
            ROOT / folder,
            copy / folder,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"),
        )
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(out), str(copy)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True)
    (found,) = out.glob("*.whl")
    return found


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    source = ROOT / "src" / "noiselimit"
    files = {
        f"noiselimit/{path.relative_to(source).as_posix()}"
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    } | {f"noiselimit/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "docs").rglob("*.md")}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name for name in names if ".dist-info/" not in name} == files
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(folder), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    return folder


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["docs", "noise"], ["noise", "--classes=3", "--noise=none"]]
)
def test_the_installed_command_works(installed: Path, tmp_path: Path, arguments: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    outputs = [
        subprocess.run(
            [*command, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout
        for command in ([sys.executable, "-m", "noiselimit"], [str(installed / "bin" / "noiselimit")])
    ]
    assert outputs[0].strip()
    assert outputs[0] == outputs[1]


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == noiselimit.__version__
    assert f"version: {noiselimit.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
