"""What MkDocs does beside rendering docs/: pages from other sources, links between them, and versions.

The README becomes the first page, notebooks become tutorials, and the pages about commands and the Python API
are generated. Links work in the repository; here they are rewritten to the pages of the site.
"""

import json
import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

from noiselimit import __version__
from website.api import api_pages
from website.commands import command_pages
from website.notebooks import notebook_pages

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""File of the repository → page of the site. Those below docs/ keep their names."""
ASSETS = ("icon.svg", "iframe-worker.js", "site.css")
FIRST = ("audit.md", "review.md", "own-loop.md", "extend.md")
"""Pages that answer most questions."""
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
REDIRECT = '<!doctype html><meta charset="utf-8"><title>noiselimit</title>\n'
REDIRECT += '<meta http-equiv="refresh" content="0; url={0}/index.html"><a href="{0}/index.html">{0}</a>\n'


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Write into a folder of this version, with the anchors that GitHub gives headings."""
    config.site_dir = os.path.join(config.site_dir, __version__)
    config.mdx_configs["toc"] = {**config.mdx_configs.get("toc", {}), "slugify": slugify(case="lower")}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages that are not in docs/, and the navigation of those that are generated."""
    sources = {target: (source, (ROOT / source).read_text("utf-8")) for source, target in PAGES.items()}
    pictures: dict[str, bytes] = {}
    for name, (text, shown) in notebook_pages(ROOT / "examples").items():
        sources[f"tutorials/{name}.md"] = (f"examples/{name}.ipynb", text)
        pictures.update({f"tutorials/{picture}": content for picture, content in shown.items()})
    for target, (source, text) in sources.items():
        files.append(
            File.generated(config, target, content=_with_site_links(text, source, target, files, config))
        )
    for file in [each for each in files.documentation_pages() if each.generated_by is None]:
        source = f"docs/{file.src_uri}"
        file.content_string = _with_site_links(file.content_string, source, file.src_uri, files, config)
    made = {"Command line": command_pages(), "Python API": api_pages()}
    for pages in made.values():
        for target, text in pages.items():
            files.append(File.generated(config, target, content=text))
    for target, content in pictures.items():
        files.append(File.generated(config, target, content=content))
    for name in ASSETS:
        content = (ROOT / "website" / name).read_bytes()
        files.append(File.generated(config, f"assets/{name}", content=content))
    assert config.nav is not None
    for section in config.nav:
        for title, pages in made.items():
            if title in section:
                section[title] += list(pages)
    known = {file.src_uri for file in files.documentation_pages()}
    config.nav = _existing(config.nav, known)
    missing = sorted(known - set(_targets(config.nav)))
    next(section for section in config.nav if "Guide" in section)["Guide"] += missing
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Give long lines the space of the table of contents; find tutorials and guides first."""
    if page.file.src_uri.startswith(("benchmarks/", "tutorials/")):
        page.meta.setdefault("hide", ["toc"])
    if page.file.src_uri.startswith(("tutorials/", *FIRST)):
        page.meta.setdefault("search", {"boost": 3})


def on_post_build(config: MkDocsConfig) -> None:
    """List the versions beside this one, and lead to the newest."""
    parent = Path(config.site_dir).parent
    versions = sorted(
        (path.parent.name for path in parent.glob("*/index.html")),
        key=lambda name: [int(number) for number in re.findall(r"\d+", name)],
        reverse=True,
    )
    entries = [{"version": name, "title": name, "aliases": []} for name in versions]
    (parent / "versions.json").write_text(json.dumps(entries), "utf-8")
    (parent / "index.html").write_text(REDIRECT.format(versions[0]), "utf-8")


def _with_site_links(text: str, source: str, target: str, files: Files, config: MkDocsConfig) -> str:
    """Point links between files of the repository to pages of the site; copy other files that are linked."""

    def rewritten(found: re.Match[str]) -> str:
        link, _, anchor = found[2].partition("#")
        if not link or ":" in link:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
        page = _page(path, files, config)
        relative = posixpath.relpath(page, posixpath.dirname(target) or ".")
        return f"{found[1]}{relative}{'#' if anchor else ''}{anchor}{found[3]}"

    pieces, start = [], 0
    for code in _CODE.finditer(text):
        pieces += [_LINK.sub(rewritten, text[start : code.start()]), code[0]]
        start = code.end()
    return "".join([*pieces, _LINK.sub(rewritten, text[start:])])


def _page(path: str, files: Files, config: MkDocsConfig) -> str:
    """The page or file of the site that stands for a file of the repository."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("examples/"):
        return f"tutorials/{Path(path).name.replace('.ipynb', '.md')}"
    copy = f"files/{path}" if Path(path).suffix else f"files/{path}.txt"
    if files.get_file_from_path(copy) is None and (ROOT / path).is_file():
        files.append(File.generated(config, copy, content=(ROOT / path).read_bytes()))
    return copy


def _existing(nav: list[Any], known: set[str]) -> list[Any]:
    """The navigation without pages that do not exist."""
    kept: list[Any] = []
    for entry in nav:
        if isinstance(entry, str):
            kept += [entry] * (entry in known)
        else:
            ((title, inner),) = entry.items()
            if isinstance(inner, list):
                kept.append({title: _existing(inner, known)})
            elif inner in known:
                kept.append(entry)
    return kept


def _targets(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [name for entry in (nav.values() if isinstance(nav, dict) else nav) for name in _targets(entry)]
