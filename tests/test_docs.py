"""Links in the documents resolve, their Python examples run, and no page grows too long."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import noiselimit

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
MOST_WORDS = 2_000
MOST_WORDS_TOGETHER = 23_500
NOT_COUNTED = ("from-cleanlab.md",)
"""Pages that do not count: a map from another library's functions to ours is looked up, not read."""


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text("utf-8")


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def anchors(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text("utf-8"))):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors(found), f"{target} has no such heading"


@pytest.mark.parametrize("name", ["own-loop", "python", "frameworks", "extend", "from-cleanlab"])
def test_python_examples_run(name: str, tmp_path: Path) -> None:
    """The blocks of a page run in order, in one process and one namespace."""
    blocks = re.findall(r"^```python\n(.*?)^```", page(name), re.M | re.S)
    assert blocks
    (tmp_path / "page.py").write_text("\n".join(blocks), "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_examples_in_docstrings_run(
    blobs: noiselimit.DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    noiselimit.train(noiselimit.grid(epochs=1, seed=[0, 1]), blobs, out="runs")
    public = {name: getattr(noiselimit, name) for name in noiselimit.__all__}
    runner = doctest.DocTestRunner()
    for name, value in public.items():
        for example in doctest.DocTestFinder(recurse=False).find(value, name, globs=dict(public)):
            runner.run(example)
    assert runner.tries >= 4
    assert not runner.failures


def test_every_public_name_is_documented() -> None:
    headings = set(re.findall(r"\w+", " ".join(re.findall(r"^## (.*)$", page("python"), re.M))))
    kinds = {name for name in noiselimit.__all__ if name.endswith("Noise")}  # one section describes them all
    assert not set(noiselimit.__all__) - kinds - headings
    assert not {name for name in kinds if name not in page("python")}


def test_documents_name_what_exists() -> None:
    """Names in backticks on the pages for contributors occur in the source."""
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    text = page("architecture") + (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    names = set(re.findall(r"`(_?[A-Za-z]\w*[A-Z_]\w*)`", text))
    assert names
    assert not {name for name in names if name not in source and name != "INSTANCES"}


def test_pages_are_short() -> None:
    """Generated tables do not count."""
    texts = {page: page.read_text("utf-8") for page in PAGES}
    tables = re.compile(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->", re.S)
    words = {page: len(tables.sub("", text).split()) for page, text in texts.items()}
    assert {page.name: count for page, count in words.items() if count > MOST_WORDS} == {}
    counted = [page for page in words if page.parent != ROOT and page.name not in NOT_COUNTED]
    assert sum(words[page] for page in counted) < MOST_WORDS_TOGETHER


def test_figures_on_the_first_pages_are_those_of_the_benchmark() -> None:
    measured = (ROOT / "docs" / "benchmarks" / "detection.md").read_text("utf-8")
    beside = (
        (ROOT / "README.md").read_text("utf-8").partition("## Beside other tools")[2].partition("\n## ")[0]
    )
    for text in (beside, page("from-cleanlab").partition("## What the difference")[2]):
        figures = re.findall(r"\b0\.\d{3}\b", text)
        assert figures
        assert not [figure for figure in figures if figure not in measured]


def test_architecture_names_files_that_exist() -> None:
    text = page("architecture")
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)", text))
    assert len(named) > 30
    assert not [
        name for name in named if not any((ROOT / start / name).exists() for start in ("", "src/noiselimit"))
    ]
