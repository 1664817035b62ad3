"""Progress on stderr: a bar on a terminal, a line every ten seconds elsewhere."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from noiselimit.engine.results import Record
    from noiselimit.training import Progress

LINE_EVERY = 10.0
"""Seconds between lines."""


@contextmanager
def training_progress(quiet: bool = False) -> Iterator[Callable[["Progress"], None]]:
    """Yield the function to pass to `train` as `progress`."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield lambda progress: None
    elif sys.stderr.isatty() and console.is_interactive:  # a dumb terminal cannot redraw a bar
        with _make_bar(console) as bar:
            yield _BarDisplay(bar)
    else:
        yield _LineDisplay()


class _Display(ABC):
    """Counts epochs without those of runs found finished: they take no time and would spoil the estimate."""

    def __init__(self) -> None:
        self._found, self._started = 0, False

    def __call__(self, progress: "Progress") -> None:
        self._started = self._started or progress.record is not None
        if not self._started:
            self._found = progress.done
        latest = "" if progress.record is None else _latest(progress.record)
        self.show(progress.done - self._found, progress.total - self._found, latest)

    @abstractmethod
    def show(self, done: int, total: int, latest: str) -> None:
        """Show that so many epochs are done, and how the latest one went."""


class _BarDisplay(_Display):
    def __init__(self, bar: "Bar") -> None:
        super().__init__()
        self._bar = bar
        self._task = bar.add_task("training", total=None, latest="")

    def show(self, done: int, total: int, latest: str) -> None:
        self._bar.update(self._task, completed=done, total=total)
        if latest:
            self._bar.update(self._task, latest=latest)


class _LineDisplay(_Display):
    def __init__(self) -> None:
        super().__init__()
        self._start = self._last = time.monotonic()

    def show(self, done: int, total: int, latest: str) -> None:
        now = time.monotonic()
        if now - self._last < LINE_EVERY or not done:
            return
        self._last, passed = now, now - self._start
        left = passed * (total - done) / done
        print_notes([f"training: {done} of {total} epochs, {passed:.0f} s, about {left:.0f} s left{latest}"])


def _make_bar(console: "Console") -> "Bar":
    from rich import progress

    return progress.Progress(
        progress.TextColumn("training"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("epochs,"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("left{task.fields[latest]}"),
        console=console,
    )


def _latest(record: "Record") -> str:
    """' · validation 58.1% · 0.02 bits/label'."""
    text = f" · validation {record['validation_accuracy']:.1%}"
    bits = record.get("memorised_bits")
    return text if bits is None else f"{text} · {bits:.2f} bits/label"


def download_progress(quiet: bool = False) -> Callable[[str, int], None]:
    """Return the function to pass to `load_data` as `progress`: it names each file once."""
    named: set[str] = set()

    def show(name: str, arrived: int) -> None:
        if not quiet and name not in named:
            named.add(name)
            print_notes([f"downloading {name}"])

    return show


def print_notes(notes: Iterable[str]) -> None:
    """Print notes about the data, such as skipped pictures, on stderr, even with --quiet."""
    for note in notes:
        print(note, file=sys.stderr, flush=True)
