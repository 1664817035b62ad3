"""A real browser for the pages we write, and what it did while it showed one."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

VARIABLE = "NOISELIMIT_BROWSER"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROKEN_OUT = """() => ({
    text: document.body.innerText,
    all: document.documentElement.textContent,
    scripts: document.querySelectorAll("script, iframe, object, embed, base, link, form, a").length,
    handlers: [...document.querySelectorAll("*")].filter(
        element => [...element.attributes].some(attribute => attribute.name.startsWith("on"))).length,
    foreign: [...document.images].filter(image => !image.src.startsWith("data:image/png;base64,")).length,
    styles: document.querySelectorAll("style").length,
    ran: window.ran === undefined ? null : window.ran,
})"""


@dataclass(frozen=True)
class Shown:
    """What became of a page."""

    text: str
    """What a person can read, or unfold."""
    all: str
    scripts: int
    handlers: int
    foreign: int
    styles: int
    ran: Any
    dialogs: tuple[str, ...]
    requests: tuple[str, ...]
    """Beside the page itself."""
    complaints: tuple[str, ...]
    """Of the browser, such as about a script that the page's policy forbids."""


def missing(what: str) -> NoReturn:
    """Skip the test, or fail it where the environment says that nothing may be skipped, as in CI."""
    if os.environ.get(VARIABLE) == "required":
        pytest.fail(f"{VARIABLE} is 'required', but {what}")
    pytest.skip(f"{what}; with {VARIABLE}=required this is a failure")


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Chromium without a window; where it is not installed, `missing` says what becomes of the test."""
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        missing(f"none of {', '.join(PROGRAMS)} is installed")
    try:
        import playwright.sync_api as playwright
    except ImportError:
        missing("the package playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def show(browser: Any, page: Path) -> Shown:
    """Load the page, unfold what is folded, and wait until nothing happens any more."""
    dialogs: list[str] = []
    requests: list[str] = []
    complaints: list[str] = []
    tab = browser.new_page()

    def dismiss(dialog: Any) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    tab.on("dialog", dismiss)
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto(page.as_uri(), wait_until="networkidle")
    tab.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true; })")
    found = tab.evaluate(BROKEN_OUT)
    tab.close()
    others = tuple(url for url in requests if url != page.as_uri() and not url.startswith("data:image/png"))
    return Shown(**found, dialogs=tuple(dialogs), requests=others, complaints=tuple(complaints))
