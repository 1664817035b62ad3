"""Cohorts of runs as tasks, each in a process of its own, on any machine that sees the folder of the runs.

The folder of a task, OUT/.checkpoints/task-…, holds its checkpoints, its news for the process that called
`train`, and a ticket without which it stops.
"""

import json
import os
import pickle
import secrets
import shutil
import socket
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import fast_precision
from noiselimit.engine.checkpoints import FOLDER, TASK, Part
from noiselimit.engine.cohort import cost, plan_blocks
from noiselimit.engine.results import Stopped
from noiselimit.errors import InputError, Notice, first_line
from noiselimit.files import clear_leftovers
from noiselimit.runs.spec import RUN_FOLDER, RunSpec
from noiselimit.training import Progress, Trainer, make_backend

POLL = 0.2
"""Seconds between two looks at the tasks."""
NEWS_EVERY = 0.5
"""Seconds between two writings of news, and between two looks at the ticket."""
ATTEMPTS = 3
"""Losses of a task, without an epoch in between, after which training ends."""
GRACE = 20.0
"""Seconds that tasks have to save their states if training is stopped."""
SEEN_AFTER = 60.0
"""Seconds that a network file system may take to show a new folder on another machine."""
Show = Callable[[Progress], None] | None
"""A `progress` function."""
TICKET, NEWS = "ticket", "news.jsonl"


@dataclass(frozen=True)
class Task:
    """A cohort to train elsewhere."""

    specs: Sequence[RunSpec]
    folder: Path
    """Folder of the runs, absolute."""
    part: Part
    how: Mapping[str, Any]
    """Arguments of `make_backend`."""
    averaged: bool
    interval: float | None

    @property
    def place(self) -> Path:
        """The folder of the task."""
        return self.folder / FOLDER / self.part.name


def work(task: Task, data: DataSet | Path) -> str | None:
    """Train the unfinished runs of a task; returns the message of an `InputError`, or None."""
    ticket = task.place / TICKET
    if not ticket.exists():
        return f"machine {socket.gethostname()} does not see {task.folder}: choose a folder that all share."
    news, looked, stopped = _News(task.place / NEWS), 0.0, False

    def stop() -> bool:
        nonlocal looked, stopped
        if time.monotonic() - looked > NEWS_EVERY:
            looked, stopped = time.monotonic(), not ticket.exists()
        return stopped

    try:
        news.write()  # the task has begun
        read = pickle.loads(data.read_bytes()) if isinstance(data, Path) else data
        with warnings.catch_warnings():
            warnings.simplefilter("always", Notice)
            warnings.showwarning = news.add_warning  # type: ignore[assignment]
            how = (task.averaged, task.interval, news.add, stop)
            Trainer(read, task.folder, make_backend(**task.how), *how, part=task.part).train(task.specs)
    except InputError as error:
        return str(error)
    except Stopped:
        pass
    finally:
        news.write()
    return None


class _News:
    """What happens in a task, written to a file twice a second."""

    def __init__(self, path: Path) -> None:
        self._path, self._written = path, 0.0
        self._lines: list[str] = []

    def add(self, progress: Progress) -> None:
        self._lines.append(json.dumps({"run": progress.spec.hash, "record": progress.record}))
        if progress.record is None or time.monotonic() - self._written > NEWS_EVERY:
            self.write()

    def add_warning(self, message: Warning | str, category: type[Warning], *_: Any) -> None:
        if issubclass(category, Notice):
            self._lines.append(json.dumps({"notice": str(message)}))

    def write(self) -> None:
        with suppress(OSError), self._path.open("a", encoding="utf-8") as file:  # the disk may be full
            file.write("\n" + "".join(line + "\n" for line in self._lines))
            self._lines, self._written = [], time.monotonic()


class Lost(Exception):  # noqa: N818  # not an error
    """A task ended without a result: its process or its machine died."""


@dataclass(kw_only=True, eq=False)
class Engine(ABC):
    """Starts tasks on a cluster."""

    tasks: int | None = None
    """Number of tasks into which the runs are split."""
    upload: str | None = None
    """URL, such as s3://bucket/runs, to which fsspec copies run folders when they are finished."""
    how: dict[str, Any] = field(init=False, repr=False)
    """Arguments of `make_backend` in a task; set by `open`."""
    slots: int = field(init=False, repr=False)
    """Number of tasks to make; set by `open`."""

    @abstractmethod
    def open(self, out: Path, how: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Connect to the cluster; `out` is the folder of the runs."""

    @abstractmethod
    def submit(self, tasks: Sequence[Task], data: DataSet) -> list[Any]:
        """Start the tasks when there is room; returns a handle of each."""

    @abstractmethod
    def has_ended(self, handle: Any) -> bool:
        """Whether a task has ended."""

    @abstractmethod
    def result(self, handle: Any) -> str | None:
        """What `work` returned in a task that has ended; raises `Lost` if it did not return."""

    @abstractmethod
    def cancel(self, handle: Any) -> None:
        """End a task at once."""

    def precision(self, specs: Sequence[RunSpec]) -> str:
        """What precision 'auto' means on the machines of the cluster."""
        asked = any(spec.precision == "auto" and not spec.names_code for spec in specs)
        if self.how["device"] == "cpu" or not asked:
            return "float32"
        if not torch.cuda.is_available():
            problem = "precision is 'auto', which depends on the GPU, and this machine has none"
            raise InputError(f"{problem}: give bfloat16 or float32.")
        return fast_precision(torch.device("cuda"))

    def uploading(self, folder: Path, show: Show) -> Show:
        """A `progress` function that also copies finished run folders to the URL, if there is one."""
        if self.upload is None:
            return show
        try:
            files, root = load_extra("fsspec", "ray").core.url_to_fs(self.upload)
        except (ImportError, ValueError) as error:
            raise InputError(f"cannot upload to {self.upload} ({first_line(error)}).") from None

        def hear(progress: Progress) -> None:
            run = folder / progress.spec.folder_name
            if progress.record is None and (run / "spec.json").exists():
                try:
                    _upload(run, files, f"{root.rstrip('/')}/{run.name}")
                except Exception as error:  # of any library
                    notice = f"cannot upload {run} ({first_line(error)}): repeat the command to try again."
                    warnings.warn(notice, Notice, stacklevel=2)
            if show is not None:
                show(progress)

        return hear


def _upload(run: Path, files: Any, target: str) -> None:
    """Copy a run folder, spec.json last: a folder that has it is complete."""
    if not files.exists(f"{target}/spec.json"):
        files.makedirs(target, exist_ok=True)
        for path in sorted(run.iterdir(), key=lambda each: each.name == "spec.json"):
            files.put_file(str(path), f"{target}/{path.name}")


def load_extra(module: str, extra: str) -> Any:
    """Import a library that only an extra installs."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise InputError(f"{module} is not installed: run pip install 'noiselimit[{extra}]'.") from None


@dataclass(eq=False)
class _Job:
    """A task, and what is known of it here."""

    task: Task
    handle: Any = None
    read: int = 0  # bytes of its news
    losses: int = 0  # since the last epoch


class Tasks:
    """Trains cohorts as tasks of an engine. Tasks that are lost continue from their checkpoints."""

    def __init__(self, engine: Engine, trainer: Trainer) -> None:
        assert trainer.folder is not None
        self._engine, self._trainer, self._folder = engine, trainer, trainer.folder.resolve()
        self._notices: set[str] = set()

    def train(self, cohorts: Sequence[Sequence[RunSpec]]) -> None:
        """Train the runs, whose parents have finished."""
        self._specs = {spec.hash: spec for specs in cohorts for spec in specs}
        jobs = [_Job(self._make_task(specs)) for specs in split(cohorts, self._engine.slots)]
        left = jobs
        try:
            self._submit(jobs)
            while left:
                time.sleep(POLL)
                if self._trainer.stop is not None and self._trainer.stop():
                    raise Stopped
                left = [job for job in left if self._is_running(job)]
        finally:
            self._end(left)

    def _make_task(self, specs: Sequence[RunSpec]) -> Task:
        trainer, checkpoints = self._trainer, self._trainer.checkpoints
        found = [checkpoints.newest(spec) for spec in specs] if checkpoints is not None else []
        states = {place[0].resolve() for place in found if place is not None}
        part = Part(f"{TASK}{secrets.token_hex(4)}", tuple(states))
        task = Task(specs, self._folder, part, self._engine.how, trainer.averaged, trainer.interval)
        task.place.mkdir(parents=True)
        (task.place / TICKET).touch()
        return task

    def _submit(self, jobs: Sequence[_Job]) -> None:
        handles = self._engine.submit([job.task for job in jobs], self._trainer.data)
        for job, handle in zip(jobs, handles, strict=True):
            job.handle = handle

    def _is_running(self, job: _Job) -> bool:
        """Whether a task is to be waited for; a lost one is started again."""
        ended = self._engine.has_ended(job.handle)
        self._read_news(job)
        if not ended:
            return True
        runs = [self._folder / spec.folder_name / "spec.json" for spec in job.task.specs]
        try:
            problem = self._engine.result(job.handle)
            if problem is None and not all(run.exists() for run in runs):
                raise Lost("its ticket disappeared")
        except Lost as loss:
            self._restart(job, str(loss))
            return True
        if problem is not None:
            raise InputError(problem)
        self._remove(job.task)
        return False

    def _restart(self, job: _Job, reason: str) -> None:
        job.losses += 1
        if job.losses == ATTEMPTS:
            problem = f"a task was lost {ATTEMPTS} times without an epoch in between ({reason})"
            raise InputError(f"{problem}: give tasks more memory, or use more tasks.")
        self._warn(f"a task was lost ({reason}): its runs continue from their last checkpoints.")
        self._remove(job.task)
        job.task, job.read = self._make_task(job.task.specs), 0
        self._submit([job])

    def _remove(self, task: Task) -> None:
        """Keep the checkpoints of a task and remove its folder; if it is still alive, it stops."""
        if self._trainer.checkpoints is not None:
            self._trainer.checkpoints.adopt(task.place)
        shutil.rmtree(task.place, ignore_errors=True)

    def _read_news(self, job: _Job) -> None:
        try:
            with (job.task.place / NEWS).open("rb") as file:
                file.seek(job.read)
                text = file.read()
        except FileNotFoundError:  # it has not begun
            return
        text = text[: text.rfind(b"\n") + 1]
        job.read += len(text)
        for line in text.splitlines():
            with suppress(json.JSONDecodeError):  # a killed process may leave half a line
                self._hear(json.loads(line), job)

    def _hear(self, news: Mapping[str, Any], job: _Job) -> None:
        if "notice" in news:
            self._warn(news["notice"])
        elif news["run"] in self._specs:  # and not a parent
            record, spec = news["record"], self._specs[news["run"]]
            if record is None:
                _wait_for(self._folder / spec.folder_name)
            else:
                job.losses = 0
            self._trainer.report(spec, spec.epochs if record is None else record["epoch"], record)

    def _warn(self, notice: str) -> None:
        if notice not in self._notices:
            warnings.warn(notice, Notice, stacklevel=2)
        self._notices.add(notice)

    def _end(self, jobs: Sequence[_Job]) -> None:
        """Stop tasks; those that have begun save their states."""
        for job in jobs:
            (job.task.place / TICKET).unlink(missing_ok=True)
        begun = [job for job in jobs if job.handle is not None and (job.task.place / NEWS).exists()]
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and not all(self._engine.has_ended(job.handle) for job in begun):
            time.sleep(POLL)
        for job in jobs:
            if job.handle is not None and not self._engine.has_ended(job.handle):
                self._engine.cancel(job.handle)
            self._remove(job.task)
        clear_leftovers(self._folder, RUN_FOLDER)
        with suppress(OSError):
            (self._folder / FOLDER).rmdir()


def split(cohorts: Sequence[Sequence[RunSpec]], tasks: int) -> Iterator[list[RunSpec]]:
    """Split cohorts into about this many parts of about equal cost."""
    costs = [sum(map(cost, specs)) for specs in cohorts]
    for specs, own in zip(cohorts, costs, strict=True):
        for share in plan_blocks(specs, max(1, round(tasks * own / sum(costs)))):
            yield [specs[position] for position in share]


def _wait_for(folder: Path) -> None:
    """Wait until this machine sees a run folder that another has written."""
    deadline = time.monotonic() + SEEN_AFTER
    while not (folder / "spec.json").exists():
        if time.monotonic() > deadline:
            raise InputError(f"{folder} cannot be seen here: choose a folder that all machines share.")
        os.listdir(folder.parent)  # brings a network file system up to date
        time.sleep(POLL)
