"""What Ctrl-C leaves of a bench: the file as it was after the last measurement, which is not gone on with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noiselimit.cli.interrupted import telling
from noiselimit.locks import file_lock


@contextmanager
def told_what_is_kept(out: Path) -> Iterator[None]:
    """Say on Ctrl-C whether `out` was written since; an older file of that name does not count."""
    before = _stamp(out)

    def kept() -> str:
        done = "nothing was written yet" if _stamp(out) == before else f"what was measured is in {out}"
        return f"{done}, and the same command measures anew"

    with telling(kept), file_lock(out):
        yield


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes whenever the file is replaced."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
