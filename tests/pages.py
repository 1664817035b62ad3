"""Make lines of a report, and parse a page as a browser does, for tests."""

import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

from noiselimit.report.content import RunLine

METRICS = "test_accuracy last_test_accuracy memorised_wrong_labels gap_auc best_epoch failure"


def run_line(
    method: str = "limit-l",
    hyper: Mapping[str, float] | None = None,
    seed: int = 0,
    chosen: bool = False,
    history: Sequence[Mapping[str, float | None]] = (),
    settings: Mapping[str, str] | None = None,
    **metrics: Any,
) -> RunLine:
    """A line about a run that was never trained; metrics are None unless given."""
    spec = SimpleNamespace(method=method, hyper=hyper or {}, seed=seed)
    found = {**dict.fromkeys(METRICS.split()), **metrics}
    run: Any = SimpleNamespace(spec=spec, history=history, metrics=found)
    return RunLine(run, chosen, settings or {})


class Page(HTMLParser):
    """The page as a browser parses it; every tag must be closed and nothing may load or run."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self.open == []
        self.check_self_contained()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "img", "br", "input"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))

    def within(self, tag: str) -> list[str]:
        return [text for place, text in self.texts if place == tag]

    @property
    def ids(self) -> set[str | None]:
        return {attributes["id"] for _, attributes in self.tags if "id" in attributes}

    def check_self_contained(self) -> None:
        for tag, attributes in self.tags:
            assert tag not in {"script", "link", "iframe", "object", "embed", "base", "form", "a", "use"}
            assert not any(name.startswith("on") for name in attributes)
            assert not {"href", "xlink:href", "srcset", "style"} & attributes.keys()
            assert re.match(
                r"data:image/(png|jpeg);base64,", attributes.get("src") or "data:image/png;base64,"
            )
        sheets = " ".join(self.within("style"))
        assert "prefers-color-scheme: dark" in sheets
        assert not re.search(r"@import|url\(|@font-face|expression", sheets)
