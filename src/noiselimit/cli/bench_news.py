"""Progress of a bench on stderr: what is being measured, and about how long the rest will take."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from noiselimit.cli.news import LINE_EVERY

if TYPE_CHECKING:
    from rich.console import Console

    from noiselimit.bench.measure import News


@contextmanager
def bench_news(quiet: bool = False, command: str = "bench") -> Iterator["News"]:
    """Yield the function to hand to `run_bench` as `tell`, or to another command's work."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield lambda label, share: None
    elif sys.stderr.isatty() and console.is_interactive:
        with _bar(console) as show:
            yield show
    else:
        yield bench_lines(command=command)


@contextmanager
def _bar(console: "Console") -> Iterator["News"]:
    from rich import progress as rich_progress

    with rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TimeRemainingColumn(),
        rich_progress.TextColumn("left"),
        console=console,
    ) as bar:
        task = bar.add_task("measuring", total=1.0)
        yield lambda label, share: bar.update(task, completed=share, description=label)


def bench_lines(clock: Callable[[], float] = time.monotonic, command: str = "bench") -> "News":
    """A function that prints a line for every new measurement, and one when ten seconds have passed."""
    started = said = clock()
    latest = None

    def show(label: str, share: float) -> None:
        nonlocal said, latest
        now = clock()
        if label == latest and now - said < LINE_EVERY:
            return
        said, latest = now, label
        left = f", about {(now - started) * (1 - share) / share:.0f} s left" if share else ""
        print(f"{command}: {label}, {now - started:.0f} s gone{left}", file=sys.stderr, flush=True)

    return show
