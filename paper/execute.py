"""Training the runs that a table or figure lacks, in a fixed order, until a deadline."""

import math
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import fast_precision, find_device
from noiselimit.errors import Notice
from noiselimit.runs.binding import bind, parent_spec
from noiselimit.runs.folder import load_run
from noiselimit.training import Progress, Stopped, train
from paper.figures import collect
from paper.protocol import GRIDS, Protocol, Task, parent_task, protocol_for
from paper.rows import RUN, append_rows, current, is_exhausted, make_row, read_rows, rows_path

FIRST_METHODS = {
    "mnist": ("ce", "mae", "fw", "dmi", "limit-g", "limit-l"),
    "cifar10": ("ce", "fw", "dmi", "limit-g", "limit-l", "limit-g+init", "limit-l+init"),
}
"""Methods that are trained before the others, which are compared with them."""
LIKELY = {
    "beta": (10.0, 3.0, 30.0, 100.0, 1.0, 0.3, 0.1, 0.0, 0.01),
    "learning_rate": (1e-5, 1e-6, 1e-4, 1e-3),
}
"""Values of the grids, the most promising first."""
ALONE = ("resnet-34", "resnet-50")
"""Networks that fill a device: each run is a batch of its own."""
LEAST_SECONDS = 30.0
"""No batch is started with less time left."""
LAST_SECONDS = 5.0
"""Training stops so long before the deadline, to finish writing."""
CHECKPOINT_SECONDS = 30.0
"""Between checkpoints if there is a deadline."""
RECORDED = "recorded"
"""A file in a run folder: its row is written and no run starts from it."""


def missing_tasks(tasks: Iterable[Task], rows: pd.DataFrame) -> list[Task]:
    """The tasks without a row of as many epochs, or of a run that ended by itself."""
    newest = current(rows)
    epochs = newest["epochs"].where(~is_exhausted(newest), 10**9)
    served = dict(zip(zip(newest["setting"], newest["seed"], strict=True), epochs, strict=True))
    return [task for task in tasks if served.get((task.setting, task.spec.seed), 0) < task.spec.epochs]


def make_batches(tasks: Iterable[Task], protocol: Protocol) -> list[list[Task]]:
    """The tasks in the order in which they are trained, as batches for `noiselimit.train`.

    Small networks: one seed of all first methods and problems of one size together, small sizes first;
    methods with large grids afterwards. Large networks: the three most likely values of every cell first.
    """
    if protocol.network in ALONE:
        return [[task] for task in sorted(tasks, key=_order_alone)]
    batches: dict[tuple[object, ...], list[Task]] = {}
    for task in sorted(tasks, key=_order):
        batches.setdefault(_order(task), []).append(task)
    return list(batches.values())


def _order(task: Task) -> tuple[int, bool, int, int, str]:
    cell, seed = task.cell, task.spec.seed
    later = _comes_later(task)
    family = "ce" if cell.method.startswith("ce-") else cell.method
    return seed // 3, later, seed, cell.n or 0, family if later else ""


def _order_alone(task: Task) -> tuple[object, ...]:
    cell, seed = task.cell, task.spec.seed
    values = dict(part.split("=") for part in task.hyper.split())
    rank = sum(LIKELY[name].index(float(value)) for name, value in values.items() if name in LIKELY)
    distance = 0.0 if cell.p is None else round(abs(cell.p - 0.4), 6)
    method = list(GRIDS).index(cell.method)
    return rank // 3, seed, _comes_later(task), distance, rank, method, cell.noise


def _comes_later(task: Task) -> bool:
    return task.cell.method not in FIRST_METHODS.get(task.cell.data, GRIDS)


def batch_title(batch: Sequence[Task]) -> str:
    """For progress and plans."""
    first = batch[0]
    if len(batch) == 1:
        what = f"{first.cell.problem}, {first.cell.method} {first.hyper}".strip()
    else:
        methods = dict.fromkeys(task.cell.method for task in batch)
        what = f"n = {first.cell.n}, {len(batch)} runs of {', '.join(methods)}"
    return f"{first.cell.data} seed {first.spec.seed}, {what}"


@dataclass
class Runner:
    """Trains batches until a deadline and appends every run that ends to the results at once."""

    protocol: Protocol
    data: DataSet
    out: Path
    """Folder of results."""
    runs: Path
    """Folder of runs and checkpoints, from which an interrupted call resumes."""
    device: str = "auto"
    threads: int | None = None
    deadline: float = math.inf
    """By time.monotonic()."""
    report: Callable[[str, int, int], None] = lambda title, done, total: None
    """Gets a batch's title and its epochs, done and in total."""
    trained: int = 0
    """Runs of the batches that have ended."""
    failed: int = 0

    def __post_init__(self) -> None:
        self._device = find_device(self.device)
        rows = read_rows(rows_path(self.out, self.protocol.data))
        self._known = set(rows[RUN].itertuples(index=False, name=None))
        # Figure 1 trains a network that no table has: its rows are kept with the figures only.
        table = protocol_for(self.protocol.data, quick=self.protocol.quick)
        self._of_table = self.protocol.network == table.network

    def run(self, batches: Iterable[Sequence[Task]]) -> None:
        """Train the batches in order."""
        _clear(self.runs)
        for batch in batches:
            if self._seconds_left() <= LEAST_SECONDS:
                return
            self._title = batch_title(batch)
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
                )
            except Stopped:
                return
            _clear(self.runs)

    def _seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    def _by_hash(self, batch: Sequence[Task]) -> dict[str, tuple[Task, bool]]:
        """Run hash → task, and whether the batch asks for it; the CE runs that it starts from come first."""
        found: dict[str, tuple[Task, bool]] = {}
        for task in batch:
            spec = bind(task.spec, self.data, fast_precision(self._device))
            found[spec.hash] = task, True
            if (parent := parent_spec(spec)) is not None:
                found.setdefault(parent.hash, (parent_task(task, parent, self.protocol), False))
        return found

    def _on_progress(self, progress: Progress) -> None:
        folder = self.runs / progress.spec.folder_name
        if progress.record is None and (folder / "spec.json").is_file():
            self._record(folder, *self._tasks[progress.spec.hash])
        self.report(self._title, progress.done, progress.total)

    def _record(self, folder: Path, task: Task, asked: bool) -> None:
        """Write the row last: if the process dies before, the next call finds the folder and repeats this."""
        run, cell = load_run(folder, trusted=True), task.cell
        columns = {"data": cell.data, "noise": cell.row_noise, "p": cell.p, "n": cell.n, "hyper": task.hyper}
        row = make_row(run, columns | {"network": self.protocol.network, "quick": self.protocol.quick})
        try:
            collect(row, run, self.data, self.out, self._device)
        except Exception as error:  # a picture is not worth hours of training
            what = f"{type(error).__name__}: {error}"
            warnings.warn(f"figures have nothing of run {folder} ({what}).", Notice, stacklevel=2)
        key = next(row[RUN].itertuples(index=False, name=None))
        if self._of_table and key not in self._known:
            append_rows(rows_path(self.out, cell.data), row)
            self._known.add(key)
        if asked:
            self.trained, self.failed = self.trained + 1, self.failed + run.failed
        is_parent = self._of_table and (cell.method, run.spec.epochs) == ("ce", self.protocol.full_epochs)
        if not is_parent:
            (folder / RECORDED).touch()


def _clear(runs: Path) -> None:
    """Delete the folders of recorded runs, which would fill the disk, unless a checkpoint may name them."""
    if any((runs / ".checkpoints").glob("*")):
        return
    for mark in runs.glob(f"*/{RECORDED}"):
        for path in mark.parent.iterdir():
            if path != mark:  # the mark goes last: a half-deleted folder is deleted by the next call
                path.unlink()
        shutil.rmtree(mark.parent)
