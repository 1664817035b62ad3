"""The frame of every picture drawn here, and text inside it."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from noiselimit.report.wording import legal


def svg(title: str, body: Sequence[str], standalone: bool, width: float, height: float) -> str:
    """An SVG of this size; `standalone` puts the style sheet into it, so that it can be a file of its own."""
    style = ""
    if standalone:
        sheet = files("noiselimit.report").joinpath("chart.css").read_text("utf-8")
        style = f'<style>{sheet}</style><rect class="paper" width="{width:g}" height="{height:g}"/>'
    size = f' width="{width:g}" height="{height:g}"' if standalone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width:g} {height:g}"{size} '
        f'role="img" aria-label="{text(title)}"><title>{text(title)}</title>{style}{"".join(body)}</svg>\n'
    )


def text(words: str) -> str:
    """Words as they may stand in XML."""
    return escape(legal(words))
