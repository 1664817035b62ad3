"""Training the runs that a table or figure lacks, until a deadline. Rows are appended as runs end."""

import json
import math
import shutil
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import fast_precision, find_device
from noiselimit.engine.preparation import bind, parent_spec
from noiselimit.errors import Notice
from noiselimit.integrations.tasks import Engine
from noiselimit.runs.folder import load_run
from noiselimit.training import Progress, Stopped, train
from paper.figures import collect
from paper.protocol import Protocol, Task, make_task, protocol_for
from paper.rows import RUN, append_rows, current, is_exhausted, make_row, read_rows, rows_path

ALONE = ("resnet-34", "resnet-50")
"""Networks that fill a device: each run is a batch of its own."""
LEAST_SECONDS = 30.0
"""No batch is started with less time left."""
LAST_SECONDS = 5.0
"""Training stops this long before the deadline, to finish writing."""
LINE_EVERY = 10.0
"""Seconds between two lines of progress."""
CHECKPOINT_SECONDS = 30.0
"""Between checkpoints if there is a deadline."""


def missing_tasks(tasks: Iterable[Task], rows: pd.DataFrame) -> list[Task]:
    """The tasks without a row of as many epochs or of a run that stopped early."""
    newest = current(rows)
    epochs = newest["epochs"].where(~is_exhausted(newest), 10**9)
    served = dict(zip(zip(newest["setting"], newest["seed"], strict=True), epochs, strict=True))
    return [task for task in tasks if served.get((task.setting, task.spec.seed), 0) < task.spec.epochs]


def make_batches(tasks: Iterable[Task], protocol: Protocol) -> list[list[Task]]:
    """The tasks as batches for `noiselimit.train`: seed by seed, all runs of one size together.

    Runs of large networks are batches of their own, in the order of the tasks.
    """
    batches: dict[tuple[int, int], list[Task]] = {}
    for number, task in enumerate(tasks):
        key = number if protocol.network in ALONE else task.cell.n or 0
        batches.setdefault((task.spec.seed, key), []).append(task)
    return [batches[key] for key in sorted(batches)]


def batch_title(batch: Sequence[Task]) -> str:
    """For progress messages."""
    first = batch[0]
    methods = ", ".join(dict.fromkeys(task.cell.method for task in batch))
    what = f"{first.cell.problem} {first.hyper}".strip() if len(batch) == 1 else f"n = {first.cell.n}"
    return f"{first.cell.data} seed {first.spec.seed}, {what}, {len(batch)} runs of {methods}"


@dataclass
class Runner:
    """Trains batches until a deadline and appends the row of every run that ends to the results."""

    protocol: Protocol
    data: DataSet
    out: Path
    """Folder of results."""
    runs: Path
    """Folder of runs and checkpoints, from which an interrupted call resumes."""
    device: str
    threads: int | None
    deadline: float
    """By time.monotonic(); infinity if there is none."""
    quiet: bool
    engine: Engine | None = None
    """Trains on a cluster, whose machines must see the folder of runs."""
    trained: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        self._device = find_device(self.device)
        rows = read_rows(rows_path(self.out, self.protocol.file))
        self._known = set(rows[RUN].itertuples(index=False, name=None))
        # Figure 1 trains a network that is in no table: its rows are kept with the figures only.
        table = protocol_for(self.protocol.data, quick=self.protocol.quick)
        self._in_table = self.protocol.network == table.network

    def run(self, batches: Iterable[Sequence[Task]]) -> None:
        """Train the batches in order."""
        for batch in batches:
            if self._seconds_left() <= LEAST_SECONDS:
                return
            self._title, self._printed = batch_title(batch), 0.0
            self._tasks = self._by_hash(batch)
            try:
                train(
                    [task.spec for task in batch],
                    self.data,
                    out=self.runs,
                    device=self.device,
                    threads=self.threads,
                    checkpoints="auto" if self.deadline == math.inf else CHECKPOINT_SECONDS,
                    progress=self._on_progress,
                    stop=lambda: self._seconds_left() < LAST_SECONDS,
                    engine=self.engine,
                )
            except Stopped:
                return
            _clear(self.runs)

    def _seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    def _by_hash(self, batch: Sequence[Task]) -> dict[str, tuple[Task, bool]]:
        """Run hash → task, and whether the batch contains it or only starts from it."""
        found: dict[str, tuple[Task, bool]] = {}
        for task in batch:
            spec = bind(task.spec, self.data, fast_precision(self._device))
            found[spec.hash] = task, True
            if (parent := parent_spec(spec)) is not None:
                ce = replace(task.cell, method="ce")
                found.setdefault(parent.hash, (make_task(ce, parent, [], self.protocol), False))
        return found

    def _on_progress(self, progress: Progress) -> None:
        folder = self.runs / progress.spec.folder_name
        if progress.record is None and (folder / "spec.json").is_file():
            self._record(folder, *self._tasks[progress.spec.hash])
        if not self.quiet and time.monotonic() - self._printed > LINE_EVERY:
            self._printed = time.monotonic()
            done = f"{progress.done} of {progress.total} epochs"
            print(f"{self._title}: {done}", file=sys.stderr, flush=True)

    def _record(self, folder: Path, task: Task, in_batch: bool) -> None:
        """Write the row last: if the process dies before, the next call finds the folder and repeats this."""
        run = load_run(folder, trusted=True)
        columns = {"hyper": task.hyper, "network": self.protocol.network, "quick": self.protocol.quick}
        row = make_row(run, task.cell.columns | columns)
        try:
            collect(row, run, self.data, self.out, self._device)
        except Exception as error:  # a figure is not worth hours of training
            what = f"{type(error).__name__}: {error}"
            warnings.warn(f"nothing was kept for figures of run {folder} ({what}).", Notice, stacklevel=2)
        key = next(row[RUN].itertuples(index=False, name=None))
        if self._in_table and key not in self._known:
            append_rows(rows_path(self.out, self.protocol.file), row)
            self._known.add(key)
        if in_batch:
            self.trained, self.failed = self.trained + 1, self.failed + run.failed


def _clear(runs: Path) -> None:
    """Delete the folders of recorded runs, which would fill the disk; other runs start from CE runs."""
    for spec in runs.glob("*/spec.json"):
        if json.loads(spec.read_text("utf-8"))["method"] != "ce":
            shutil.rmtree(spec.parent)
