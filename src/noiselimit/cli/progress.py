"""Progress on stderr: a bar with the time left on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

NONE = "–"


def duration(seconds: float | None, *, scaled: bool = False) -> str:
    """In the largest unit of which there is one, to two digits; `scaled` from something else: '~' and one."""
    if seconds is None:
        return NONE
    if not seconds:
        return "0"
    for unit, length in (("h", 3600), ("min", 60), ("s", 1)):
        if seconds >= length:
            rounded = float(f"{seconds / length:.{0 if scaled else 1}e}")
            places = 1 if rounded < 10 and unit != "s" and not scaled else 0
            return f"{'~' if scaled else ''}{rounded:,.{places}f} {unit}"
    return "< 1 s"


def scaled_words(*networks: str) -> str:
    """What '~' stands for, below a table."""
    return (
        f"~: scaled by the number of operations from {' or '.join(networks)}, since the bench did not time "
        "the network itself: an order of magnitude, no more."
    )


if TYPE_CHECKING:
    from rich.console import Console

    from noiselimit.data.examples import DataSet
    from noiselimit.engine.results import Record
    from noiselimit.training import Progress

LINE_EVERY = 10.0  # seconds between lines where there is no terminal


@contextmanager
def training_news(quiet: bool = False) -> Iterator[Callable[["Progress"], None]]:
    """Yield the function to hand to `train` as `progress`."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield lambda progress: None
    elif sys.stderr.isatty() and console.is_interactive:  # a dumb terminal cannot redraw a bar
        with training_bar(console) as show:
            yield show
    else:
        yield training_lines()


@contextmanager
def training_bar(console: "Console") -> Iterator[Callable[["Progress"], None]]:
    """Yield a function that draws a bar, the time left and the latest accuracy, within 80 columns."""
    from rich import progress as rich_progress

    with rich_progress.Progress(
        rich_progress.TextColumn("training"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn("epochs,"),
        rich_progress.TimeRemainingColumn(),
        rich_progress.TextColumn("left{task.fields[latest]}"),
        console=console,
    ) as bar:
        task = bar.add_task("training", total=None, latest="")
        count = _without_found()

        def show(progress: "Progress") -> None:
            done, total = count(progress)
            bar.update(task, completed=done, total=total)
            if progress.record is not None:
                bar.update(task, latest=_latest(progress.record))

        yield show


def _latest(record: "Record") -> str:
    """' · validation 58.1% · 0.02 bits/label': how the latest epoch went."""
    text = f" · validation {record['validation_accuracy']:.1%}"
    bits = record.get("memorised_bits")
    return text if bits is None else f"{text} · {bits:.2f} bits/label"


def training_lines(clock: Callable[[], float] = time.monotonic) -> Callable[["Progress"], None]:
    """A function that prints a line when ten seconds have passed since the last one."""
    started = said = clock()
    count = _without_found()

    def show(progress: "Progress") -> None:
        nonlocal said
        done, total = count(progress)
        now = clock()
        if now - said < LINE_EVERY or not done:
            return
        said = now
        left = (now - started) * (total - done) / done
        latest = "" if progress.record is None else _latest(progress.record)
        print(
            f"training: {done} of {total} epochs, {now - started:.0f} s gone, "
            f"about {left:.0f} s left{latest}",
            file=sys.stderr,
            flush=True,
        )

    return show


def _without_found() -> Callable[["Progress"], tuple[int, int]]:
    """Epochs (done, planned) without those of runs found finished: they took no time, so they tell nothing
    about the time left."""
    found, begun = 0, False

    def count(progress: "Progress") -> tuple[int, int]:
        nonlocal found, begun
        begun = begun or progress.record is not None
        if not begun:
            found = progress.done
        return progress.done - found, progress.total - found

    return count


def download_news(quiet: bool = False) -> Callable[[str, int], None]:
    """The function to hand to `load_data` as `progress`: names each file as its first bytes arrive."""
    named: set[str] = set()

    def show(name: str, arrived: int) -> None:
        if not quiet and name not in named:
            named.add(name)
            print(f"downloading {name}", file=sys.stderr, flush=True)

    return show


def print_notes(data: "DataSet") -> None:
    """What reading the data has to tell, such as skipped pictures. No progress: --quiet does not act."""
    for note in data.notes:
        print(note, file=sys.stderr, flush=True)
