"""The figures of docs/results.md, drawn from what runs left for them."""

from pathlib import Path

from noiselimit.reproduce.cohorts import plan_cohorts, total_seconds
from noiselimit.reproduce.figures.drawing import draw_figure, sheet_files
from noiselimit.reproduce.figures.figure import Figure
from noiselimit.reproduce.figures.kept import FOLDER, Kept, kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from pages.folders import DOCS
from pages.results.numbers import PLACE, Measured, hours_text


def figures(measured: Measured, place: Path = PLACE) -> str:
    """Every figure under its heading: the picture and what was measured, or what it would take."""
    return "\n\n".join(_figure(figure, measured, place) for figure in FIGURES.values())


def _figure(figure: Figure, measured: Measured, place: Path) -> str:
    heading = f"### {figure.title}\n\n{figure.place}; `noiselimit reproduce {figure.name}`."
    if figure.kind is None:
        return f"{heading} {figure.caption([])}\n\n![{figure.title}.](fano.svg)"
    kept = shown(figure, place)
    pictures = [picture(figure, place)] if figure.draw(kept) else sheet_files(figure.name, place)
    if not kept or not pictures:
        return f"{heading} {_not_run(figure, kept, measured)}"
    images = [f"![{figure.title}.]({_link(path)})" for path in pictures]
    return "\n\n".join([f"{heading} {figure.caption(kept)}", *images])


def _not_run(figure: Figure, kept: list[Kept], measured: Measured) -> str:
    protocol = figure.protocol()
    assert protocol is not None
    missing = figure.missing(kept, protocol)
    seconds = total_seconds(plan_cohorts(missing, [one.row for one in kept], protocol, measured.speed))
    hours = None if seconds is None else seconds / 3600
    return f"Not run yet: {len(missing)} runs, about {hours_text(hours)} on an H200."


def shown(figure: Figure, place: Path = PLACE) -> list[Kept]:
    """What the figure shows."""
    return [] if figure.kind is None else figure.shown(read_kept(kept_file(place, figure.kind)))


def picture(figure: Figure, place: Path = PLACE) -> Path:
    """Where the figure's SVG is, as `noiselimit reproduce` writes it."""
    return place / FOLDER / f"{figure.name}.svg"


def draw(place: Path = PLACE) -> None:
    """Write the charts; one that nothing is known for any more does not stay behind."""
    for figure in FIGURES.values():
        if figure.kind is not None and picture(figure, place) not in draw_figure(figure, place):
            picture(figure, place).unlink(missing_ok=True)


def _link(path: Path) -> str:
    return f"../{path.relative_to(DOCS.parent).as_posix()}"
