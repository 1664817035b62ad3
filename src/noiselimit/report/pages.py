"""How a template becomes a page that needs no network and no script."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from noiselimit.report.wording import legal

GAP_SPAN = (0.0, 2**0.5)


def fill(template: str, **values: Any) -> str:
    """The page of a template of this folder: what is not Markup is escaped, the style sheets are added."""
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,  # of the parts that a template includes
    )
    style = Markup(_file("chart.css") + _file("style.css"))
    return legal(environment.get_template(template).render(style=style, **values))


def _file(name: str) -> str:
    return files("noiselimit.report").joinpath(name).read_text("utf-8")
