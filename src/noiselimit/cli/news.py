"""Progress on stderr: a bar with the time left on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noiselimit.training import Progress

LINE_EVERY = 10.0  # seconds between lines where there is no terminal


@contextmanager
def training_news(quiet: bool = False) -> Iterator[Callable[["Progress"], None]]:
    """Yield the function to hand to `train` as `progress`."""
    if quiet:
        yield lambda progress: None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Callable[["Progress"], None]]:
    from rich import progress as rich_progress
    from rich.console import Console

    with rich_progress.Progress(
        rich_progress.TextColumn("training"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn("epochs ·"),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("gone,"),
        rich_progress.TimeRemainingColumn(),
        rich_progress.TextColumn("left {task.fields[latest]}"),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task("training", total=None, latest="")

        def show(progress: "Progress") -> None:
            bar.update(task, completed=progress.done, total=progress.total)
            if progress.record is not None:
                bar.update(task, latest=f"· {_latest(progress)}")

        yield show


def _lines() -> Callable[["Progress"], None]:
    started = said = time.monotonic()

    def show(progress: "Progress") -> None:
        nonlocal said
        now = time.monotonic()
        if now - said < LINE_EVERY or not progress.done:
            return
        said = now
        left = (now - started) * (progress.total - progress.done) / progress.done
        print(
            f"training: {progress.done} of {progress.total} epochs, {now - started:.0f} s gone, "
            f"about {left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )

    return show


def _latest(progress: "Progress") -> str:
    assert progress.record is not None
    accuracy = progress.record["validation_accuracy"]
    assert accuracy is not None
    return f"{progress.spec.method} seed {progress.spec.seed}: {accuracy:.1%} of noisy validation labels"
