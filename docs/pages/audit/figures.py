"""How figures over seeds are written in docs/audit.md."""

from noiselimit.bench.detection.summary import Figure
from noiselimit.cli.bench_tables import NONE


def bold(text: str, leading: str) -> str:
    """Bold where the mean is the leading one, or reads like it."""
    return f"**{text}**" if text != NONE and text.split()[0] == leading.split()[0] else text


def score(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.mean:.4f} ± {figure.deviation:.4f}"


def signed(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.mean:+.3f} ± {figure.deviation:.3f}"


def percents(figure: Figure | None, digits: int = 2) -> str:
    if figure is None:
        return NONE
    return f"{100 * figure.mean:.{digits}f} ± {100 * figure.deviation:.{digits}f} %"


def seconds(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.mean:.1f} ± {figure.deviation:.1f}"


def megabytes(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.mean / 1e6:,.0f} MB"


def times(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"
