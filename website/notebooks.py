"""Notebooks as pages: text, code, and the output that the notebook holds."""

import base64
import json
import re
from pathlib import Path
from typing import Any

Pictures = dict[str, bytes]
_STYLE = re.compile(r"<style.*?</style>\s*", re.DOTALL)
_FRAME = re.compile(r' (border="1"|class="dataframe"|style="text-align: right;")')
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def notebook_pages(folder: Path) -> dict[str, tuple[str, Pictures]]:
    """Name of a notebook → Markdown, and the pictures that it shows by file name."""
    return {path.stem: _page(path) for path in sorted(folder.glob("*.ipynb"))}


def _page(path: Path) -> tuple[str, Pictures]:
    pictures: Pictures = {}
    blocks = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        source = _text(cell["source"])
        if cell["cell_type"] == "markdown":
            blocks.append(source)
            continue
        commands = all(line.startswith("!") for line in source.splitlines())
        code = "\n".join(line.removeprefix("!") for line in source.splitlines()) if commands else source
        blocks.append(f"```{'console' if commands else 'python'}\n{code}\n```")
        for output in cell["outputs"]:
            name = f"{path.stem}-{len(pictures) + 1}"
            blocks.append(_output(output, name, cell["metadata"].get("alt", ""), pictures))
    return "\n\n".join(blocks) + "\n", pictures


def _output(output: dict[str, Any], name: str, alt: str, pictures: Pictures) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        pictures[f"{name}.png"] = base64.b64decode(_text(data["image/png"]))
        return f"![{alt}]({name}.png)"
    if "image/svg+xml" in data:
        pictures[f"{name}.svg"] = _text(data["image/svg+xml"]).encode()
        return f"![{alt}]({name}.svg)"
    if "text/html" in data:
        table = _FRAME.sub("", _STYLE.sub("", _text(data["text/html"])))
        return f'<div class="output" markdown="0">\n{table}\n</div>'
    text = _text(output["text"] if "text" in output else data["text/plain"])
    return f"```{{.text .output}}\n{_COLOURS.sub('', text).rstrip()}\n```"


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
