"""noiselimit docs: the pages of the documentation, which are installed with the package."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated

import typer

from noiselimit.cli.tables import plain_table, print_all
from noiselimit.errors import unknown


def pages() -> dict[str, Traversable]:
    """Name of a page, such as noise or benchmarks/speed → its file."""
    root = files("noiselimit") / "docs"
    found = {
        f"{start}{page.name.removesuffix('.md')}": page
        for start, folder in (("", root), ("benchmarks/", root / "benchmarks"))
        for page in folder.iterdir()
        if page.name.endswith(".md")
    }
    return dict(sorted(found.items(), key=lambda item: ("/" in item[0], item[0])))


def docs(
    page: Annotated[
        str | None, typer.Argument(metavar="PAGE", help="Page to print. Default: list all pages.")
    ] = None,
) -> None:
    """Print a page of the documentation, as Markdown."""
    known = pages()
    if page is None:
        titles = {
            name: file.read_text("utf-8").partition("\n")[0].lstrip("# ") for name, file in known.items()
        }
        print_all(plain_table(["page", "title"], titles.items(), left=2))
        return
    if page not in known:
        raise unknown("page", page, known)
    print(known[page].read_text("utf-8"), end="")
