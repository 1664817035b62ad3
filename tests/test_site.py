"""The site builds without warnings, has no dead link, and needs no network."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import noiselimit
from website.commands import command_pages

ROOT = Path(__file__).resolve().parents[1]
MOST_WORDS = 2_500


class Content(HTMLParser):
    """What a page links to, loads and says."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.pictures: list[dict[str, str | None]] = []
        self.words = 0
        self._article = False
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids |= {str(found["id"])} if "id" in found else set()
        self._article |= tag == "article"
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        elif tag == "img":
            self.pictures.append(found)
        if source := found.get("src") or (found.get("href") if tag == "link" else None):
            self.loaded.append(source)

    def handle_endtag(self, tag: str) -> None:
        self._article &= tag != "article"

    def handle_data(self, data: str) -> None:
        self.words += len(data.split()) * self._article


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; --strict turns warnings into errors."""
    out = tmp_path_factory.mktemp("site")
    own = {"PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(out)]
    built = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False
    )
    assert (built.returncode, built.stderr) == (0, "")
    return out / noiselimit.__version__


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Content]:
    return {path: Content(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


def test_links_lead_somewhere(pages: dict[Path, Content]) -> None:
    dead, linked = [], set()
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            linked.add(target)
            anchors = pages[target].ids if target in pages else set()
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in anchors):
                dead.append(f"{path.name}: {link}")
    assert dead == []
    assert set(pages) <= linked


def test_pages_load_nothing_from_elsewhere(pages: dict[Path, Content]) -> None:
    assert not [link for page in pages.values() for link in page.loaded if urlsplit(link).netloc]


def test_pages_are_short_and_pictures_are_described(pages: dict[Path, Content]) -> None:
    assert {path.name: page.words for path, page in pages.items() if page.words > MOST_WORDS} == {}
    assert min(page.words for page in pages.values()) > 20
    pictures = [picture for page in pages.values() for picture in page.pictures]
    assert len(pictures) > 8
    assert not [picture["src"] for picture in pictures if len((picture.get("alt") or "").split()) < 5]


def test_every_public_name_and_command_has_its_place(pages: dict[Path, Content], site: Path) -> None:
    headings = {name for path, page in pages.items() if path.parent.name == "api" for name in page.ids}
    named = {name.rpartition(".")[2] for name in headings}
    assert set(noiselimit.__all__) <= named
    for name in command_pages():
        assert (site / name).with_suffix(".html").is_file()
    assert "--expect-noise" in (site / "commands" / "audit.html").read_text("utf-8")


def test_the_newest_version_is_opened(site: Path) -> None:
    versions = json.loads((site.parent / "versions.json").read_text("utf-8"))
    assert versions[0]["version"] == noiselimit.__version__
    assert f"{noiselimit.__version__}/index.html" in (site.parent / "index.html").read_text("utf-8")


def test_it_works_from_disk_and_on_a_phone(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for name in ("index", "audit", "tutorials/table", "commands/train", "api/training", "benchmarks/paper"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    page.click("label[for=__search] >> visible=true")
    page.keyboard.type("hard links")
    page.wait_for_selector(".md-search-result__item a")
    assert "audit.html" in " ".join(
        link.get_attribute("href") for link in page.query_selector_all(".md-search-result__item a")
    )
    page.close()
    assert not [url for url in requests if re.match(r"https?:", url)]
