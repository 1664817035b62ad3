"""How numbers and runs are written, the same in the table, the charts and the sentence."""

import math
import re

from noiselimit.report.content import RunLine

DASH = "–"
SPACE = "\u00a0"
_SYMBOLS = {"beta": "β", "sigma": "σ", "penalty": "λ"}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def known(value: float | None) -> float | None:
    """The value, or None if it is missing, NaN or infinite."""
    return None if value is None or not math.isfinite(value) else float(value)


def percent(value: float | None, digits: int = 1) -> str:
    """0.981 → `98.1 %` (with a space that does not break); an en dash if the value is not known."""
    value = known(value)
    return DASH if value is None else f"{100 * value:.{digits}f}{SPACE}%"


def decimal(value: float | None, digits: int = 3) -> str:
    """0.9991 → `0.999`; an en dash if the value is not known."""
    value = known(value)
    return DASH if value is None else f"{value:.{digits}f}"


def plain(value: float | None) -> str:
    """10.0 → `10`, 0.001 → `0.001`; an en dash if the value is not known."""
    value = known(value)
    return DASH if value is None else f"{value:g}"


def symbol(hyper: str) -> str:
    """The letter of a hyper-parameter where it has one (β), or its name in words."""
    return _SYMBOLS.get(hyper, hyper.replace("_", " "))


def run_name(run: RunLine, seed: bool = False, joined: str = ", ") -> str:
    """`limit-l, β 10` and, if asked, `, seed 0`; `joined` stands between the method and what follows."""
    parts = [f"{symbol(name)}{SPACE}{plain(value)}" for name, value in run.hyper.items()]
    parts += [f"{symbol(name)}{SPACE}{value}" for name, value in run.settings.items()]
    if seed:
        parts.append(f"seed{SPACE}{run.seed}")
    return joined.join([run.method, ", ".join(parts)]) if parts else run.method


def shorten(text: str, most: int) -> str:
    """At most `most` characters, the last one an ellipsis if something was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def legal(text: str) -> str:
    """The text with characters that neither XML nor UTF-8 can carry replaced by �."""
    return _NOT_XML.sub("\ufffd", text)
