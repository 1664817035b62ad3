"""A figure's pictures as files, beside what they are drawn from."""

from pathlib import Path

from noiselimit.files import atomic_file
from noiselimit.reproduce.figures.figure import Figure
from noiselimit.reproduce.figures.kept import FOLDER, kept_file, read_kept


def draw_figure(figure: Figure, out: Path, *, quick: bool = False) -> list[Path]:
    """Draw what was measured so far; the files of the figure, none where nothing was.

    Sheets of pictures are there already: they were drawn when the run that they are of had ended.
    """
    kept = [] if figure.kind is None else read_kept(kept_file(out, figure.kind))
    picture = figure.draw(figure.shown(kept, quick=quick))
    name = picture_name(figure, quick=quick)
    if picture is None:
        return sheet_files(name, out)
    path = out / FOLDER / f"{name}.svg"
    with atomic_file(path) as temporary:
        temporary.write_text(picture, "utf-8")
    return [path]


def picture_name(figure: Figure, *, quick: bool) -> str:
    """What the files of a figure are called; those of quick trials tell themselves apart."""
    return f"{figure.name}-quick" if quick else figure.name


def sheet_files(name: str, out: Path) -> list[Path]:
    """The sheets of pictures of a figure that are there, in order."""
    return sorted((out / FOLDER).glob(f"{name}-[0-9].png"))
