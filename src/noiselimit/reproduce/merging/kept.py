"""What figures are drawn from, made elsewhere, added to what is here."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from noiselimit.locks import file_lock
from noiselimit.reproduce.figures.kept import FOLDER, Kept, keep, kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.merging.arriving import Arriving, located, newcomers, run_of, tell_of_strangers
from noiselimit.reproduce.rows import ResultRow


def merge_kept(files: Mapping[Path, Sequence[Kept]], out: Path) -> dict[str, int]:
    """Add runs, by the file that has them, as rows are added; name of a file → how many were added."""
    arriving: dict[Path, list[Arriving[Kept]]] = {}
    for file, runs in files.items():
        arriving.setdefault(kept_file(out, file.stem), []).extend(located(file, runs, lambda one: one.row))
    return {f"{FOLDER}/{target.name}": _merge(own, target) for target, own in arriving.items()}


def add_kept(arriving: Sequence[Arriving[Kept]], target: Path) -> list[Arriving[Kept]]:
    """Add what the file does not have yet, and tell of what contradicts it; what was added."""
    with file_lock(target):
        new = newcomers(arriving, {run_of(one.row): one for one in read_kept(target)}, target)
        keep(target, [one.item for one in new])
    return new


def _merge(arriving: Sequence[Arriving[Kept]], target: Path) -> int:
    new = add_kept(arriving, target)
    tell_of_strangers(new, target, _is_shown, "no figure shows")
    return len(new)


def _is_shown(row: ResultRow) -> bool:
    return any(figure.wants(row) for figure in FIGURES.values())
