"""Parse a report as a browser does, for tests."""

import re
from html.parser import HTMLParser


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
        if tag not in {"meta", "img", "br"}:
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
            assert str(attributes.get("src", "data:image/png;base64,")).startswith("data:image/png;base64,")
        sheets = " ".join(self.within("style"))
        assert "prefers-color-scheme: dark" in sheets
        assert not re.search(r"@import|url\(|@font-face|expression", sheets)
