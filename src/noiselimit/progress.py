"""Progress on stderr: a bar on a terminal, a line every ten seconds elsewhere."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from noiselimit.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from noiselimit.engine.results import Record
    from noiselimit.training import Progress

LINE_EVERY = 10.0  # seconds


@contextmanager
def training_progress(quiet: bool = False) -> Iterator[Callable[["Progress"], None]]:
    """Yield the function to pass to `train` as `progress`."""
    existed, latest = 0, ""

    def show_new(progress: "Progress") -> None:
        """Leave out the epochs of runs that existed: they take no time and would distort the estimate."""
        nonlocal existed, latest
        if progress.record is not None:
            latest = _latest(progress.record)
        elif not latest:
            existed = progress.done
        show(progress.done - existed, progress.total - existed, latest)

    with _display(quiet, "training", "epochs") as show:
        yield show_new


@contextmanager
def shown_progress(
    progress: "Callable[[Progress], None] | bool | None",
) -> Iterator["Callable[[Progress], None] | None"]:
    """Yield the user's function as it is, one that shows the training for True, and None for False."""
    if progress is True:
        with training_progress() as show:
            yield show
    elif progress is None or progress is False or callable(progress):
        yield None if progress is False else progress
    else:
        raise InputError(f"progress is {progress!r}: give True or a function.")


def embedding_progress(quiet: bool = False) -> AbstractContextManager[Callable[..., None]]:
    """Yield the function to call with the number of inputs that are embedded, and that of all."""
    return _display(quiet, "embedding", "inputs")


@contextmanager
def _display(quiet: bool, what: str, unit: str) -> Iterator[Callable[..., None]]:
    """Yield a function that shows how many of all units are done, and the latest result."""
    if quiet:
        yield lambda done, total, latest="": None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if sys.stderr.isatty() and console.is_interactive:  # a dumb terminal cannot redraw a bar
        with _make_bar(console, what, unit) as bar:
            yield partial(_update_bar, bar)
    else:
        yield _lines(what, unit)


def _lines(what: str, unit: str) -> Callable[..., None]:
    """Return a function that prints a line every ten seconds."""
    start = last = time.monotonic()

    def show(done: int, total: int, latest: str = "") -> None:
        nonlocal last
        if done and time.monotonic() - last >= LINE_EVERY:
            last = time.monotonic()
            left = f"{last - start:.0f} s, about {(last - start) * (total - done) / done:.0f} s left"
            print_notes([f"{what}: {done} of {total} {unit}, {left}{latest}"])

    return show


def _make_bar(console: "Console", what: str, unit: str) -> "Bar":
    from rich import progress

    return progress.Progress(
        progress.TextColumn(what),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn(f"{unit},"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("left{task.fields[latest]}"),
        console=console,
    )


def _update_bar(bar: "Bar", done: int, total: int, latest: str = "") -> None:
    """The first call adds the bar, so that nothing is shown if there is nothing to do."""
    task = bar.task_ids[0] if bar.task_ids else bar.add_task("", latest="")
    bar.update(task, completed=done, total=total, latest=latest)


def _latest(record: "Record") -> str:
    """' · validation 58.1% · 0.02 bits/label'."""
    bits = record.get("memorised_bits")
    memorised = "" if bits is None else f" · {bits:.2f} bits/label"
    return f" · validation {record['validation_accuracy']:.1%}{memorised}"


def print_notes(notes: Iterable[str]) -> None:
    """Print notes about the data, such as skipped images, on stderr, even with --quiet."""
    for note in notes:
        print(note, file=sys.stderr, flush=True)
