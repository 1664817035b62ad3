"""The notebooks in examples/ run, and hold the output of a run.

`python tests/test_examples.py` runs them and stores their output.
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
PROMISES = {
    "table": (r"given labels ([\d.]+)%, with the corrected ones ([\d.]+)%", lambda a, b: a + 2 < b),
    "pictures": (r"(\d+) before, (\d+) after", lambda a, b: b < a / 4),
    "text": (r"([\d.]+)% right; the labels are ([\d.]+)% right", lambda a, b: a > b + 10),
    "paper": (
        r"0.00 bits memorised: .* least ([\d.]+)%\n1.00 .* ([\d.]+)%",
        lambda a, b: (a, b) == (40, 17.8),
    ),
}
"""What a notebook shows: the figures in its output, and how they compare."""


def execute(path: Path, folder: Path) -> Any:
    """Run a notebook in a folder, with the command and the package of this checkout."""
    notebook = nbformat.read(path, as_version=4)
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "IPYTHONDIR": str(folder / ".ipython"),
    }
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        resources={"metadata": {"path": folder}},
        record_timing=False,
        coalesce_streams=True,
    )
    client.execute(env={**os.environ, **own})
    for data in (each.get("data", {}) for cell in notebook.cells for each in cell.get("outputs", ())):
        if "image/png" in data:  # pillow also shows a JPEG
            data.pop("image/jpeg", None)
    return notebook


def outputs(notebook: Any) -> list[list[str]]:
    """For each cell, the kinds of what it shows."""
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        sorted({kind for each in cell.outputs for kind in each.get("data", {"text": 0})}) for cell in codes
    ]


def printed(notebook: Any) -> str:
    return "".join(each.get("text", "") for cell in notebook.cells for each in cell.get("outputs", ()))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    stored, now = nbformat.read(path, as_version=4), execute(path, tmp_path)
    assert outputs(stored) == outputs(now)
    pattern, holds = PROMISES[path.stem]
    for notebook in (stored, now):
        found = re.search(pattern, printed(notebook))
        assert found
        assert holds(*map(float, found.groups()))


def test_notebooks_name_no_place_on_a_machine() -> None:
    assert NOTEBOOKS
    assert not [path.name for path in NOTEBOOKS if re.search(r"/tmp/|/home/|/root/", path.read_text("utf-8"))]


def store(path: Path) -> None:
    """Run a notebook and write it with its output."""
    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(execute(path, Path(folder)), path)


if __name__ == "__main__":
    for each in NOTEBOOKS:
        store(each)
