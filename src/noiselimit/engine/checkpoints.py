"""Checkpoints: the states of unfinished runs, saved at the end of epochs and loaded to resume.

A checkpoint is a safetensors file OUT/.checkpoints/epoch-N-CHECKSUM.safetensors with the states of a block of
runs. Blocks differ from call to call, so a run is looked up by its hash in all files. Each run keeps two.
"""

import dataclasses
import hashlib
import json
import math
import secrets
import shutil
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from noiselimit.engine.callbacks import is_averaged
from noiselimit.engine.results import RowState, SaveStates, States
from noiselimit.errors import InputError, Notice, number, shown
from noiselimit.files import clear_leftovers, finite_json, open_regular, sync
from noiselimit.runs.spec import RunSpec

FOLDER = ".checkpoints"
FORMAT = 1
GENERATIONS = 2
"""Checkpoints kept of each run: the newest, and one to fall back on."""
NAMES = f"epoch-*-{'[0-9a-f]' * 32}.safetensors"
TEMPORARY = "checkpoint"
TASK = "task-"
"""Start of the names of folders in which tasks of a cluster keep their checkpoints."""

COST_FACTOR = 50
"""The next checkpoint waits this many times longer than the last one took: less than 2 % of the time."""
LEAST_SECONDS = 10.0
"""Shortest time between two automatic checkpoints."""
ASSUMED_SPEED = 2e8
"""Bytes per second, for the first checkpoint. Training that is stopped saves no more than this."""
LARGEST_ASSUMED_COST = 6.0
"""Seconds; the first checkpoint comes after five minutes at the latest."""
EXIT_TIMEOUT = 1.5
"""Seconds that an interrupted training waits for a checkpoint that is being written."""


@dataclass(frozen=True)
class Entry:
    """What a checkpoint's metadata say about one run."""

    folder: str  # name of the run's folder once it has finished
    epoch: int
    averaged: bool  # whether the state contains averaged probabilities
    torch: str  # version of torch that computed it


def _entries(states: States) -> dict[str, Entry]:
    return {
        spec.hash: Entry(
            spec.folder_name,
            state.epoch,
            any(name.startswith("watched.") for name in state.tensors),
            torch.__version__,
        )
        for spec, state in states
    }


def write_checkpoint(folder: Path, states: States) -> Path:
    """Write the states of some runs to a new file, whose name contains its checksum."""
    tensors: dict[str, Tensor] = {}
    for spec, state in states:
        facts = {"step": state.step, "history": state.history, "channels_last": state.channels_last}
        text = json.dumps(facts, allow_nan=False).encode()
        tensors[f"{spec.hash}/run"] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        tensors |= {f"{spec.hash}/{name}": tensor.contiguous() for name, tensor in state.tensors.items()}
    entries = {run: dataclasses.asdict(entry) for run, entry in _entries(states).items()}
    epoch = max(state.epoch for _, state in states)
    folder.mkdir(exist_ok=True)
    temporary = folder / f".{TEMPORARY}.{secrets.token_hex(4)}.tmp"
    try:
        metadata = {"format": str(FORMAT), "runs": json.dumps(entries)}
        safetensors.torch.save_file(tensors, temporary, metadata)
        sync(temporary)
        path = folder / f"epoch-{epoch:05d}-{_checksum(temporary)}.safetensors"
        temporary.replace(path)
        sync(folder)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return path


def read_entries(path: Path) -> dict[str, Entry] | None:
    """Which runs a checkpoint holds, by hash; None if the file is damaged."""
    try:
        with safetensors.safe_open(path, "pt") as file:
            metadata = file.metadata()
    except safetensors.SafetensorError:
        return None
    if not path.stem.endswith(f"-{_checksum(path)}"):
        return None
    if int(metadata["format"]) > FORMAT:
        raise InputError(
            f"{path} was written by a newer noiselimit: install that, or delete the file to start over."
        )
    return {run: Entry(**entry) for run, entry in json.loads(metadata["runs"]).items()}


def load_state(path: Path, run: str, entry: Entry) -> RowState:
    """Load the state of one run from an intact checkpoint."""
    with safetensors.safe_open(path, "pt") as file:
        names = [name for name in file.keys() if name.startswith(f"{run}/")]  # noqa: SIM118  # not a mapping
        tensors = {name.removeprefix(f"{run}/"): file.get_tensor(name) for name in names}
    facts = finite_json(tensors.pop("run").numpy().tobytes().decode())
    history = tuple(facts["history"])
    return RowState(entry.epoch, facts["step"], history, facts["channels_last"], tensors)


def _checksum(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def parse_interval(checkpoints: str | float) -> float | None:
    """Least seconds between two checkpoints: None for 'auto', infinity for 'off'."""
    if checkpoints in ("auto", "off"):
        return None if checkpoints == "auto" else math.inf
    try:
        return number("checkpoints", checkpoints, at_least=0.0)
    except InputError:
        text = shown(checkpoints)
        raise InputError(f"checkpoints is {text}: give auto, off or a number of seconds ≥ 0.") from None


class Interval:
    """When a block's next checkpoint is due: `seconds` after the last one, or automatically if None."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds = seconds
        self._clock = clock
        self._last = clock()
        self._cost: float | None = None

    def is_due(self, size: Callable[[], int]) -> bool:
        """Whether to write one now; `size` returns its bytes and is called only if that matters."""
        waited = self._clock() - self._last
        if self.seconds is not None:
            return waited >= self.seconds
        if waited < LEAST_SECONDS:
            return False
        cost = min(LARGEST_ASSUMED_COST, size() / ASSUMED_SPEED) if self._cost is None else self._cost
        return waited >= COST_FACTOR * cost

    def record(self, cost: float) -> None:
        """Note that one was just written, or failed, after `cost` seconds."""
        self._cost, self._last = cost, self._clock()


class Part(NamedTuple):
    """The part of a training that is one task of a cluster."""

    name: str
    """Of the folder for its checkpoints."""
    states: Sequence[Path]
    """Checkpoints of others from which its runs resume."""


class Checkpoints:
    """The checkpoints in an output folder; a context that ends when the training ends.

    Files that no unfinished run needs are deleted. Other files in the folder are never touched.
    """

    def __init__(
        self,
        out: Path,
        seconds: float | None,
        *,
        averaged: bool,
        in_background: bool,
        writes: bool = True,
        part: Part | None = None,
    ) -> None:
        """Checkpoints are at least `seconds` apart; None: automatically.

        `averaged`: runs average probabilities, so a state must contain the averages to be of use.
        `writes`: whether this process writes and deletes files.
        `part`: only its checkpoints, in a folder of their own, and those that it resumes from.
        """
        self.folder = out / FOLDER / ("" if part is None else part.name)
        self._out = out
        self._seconds = seconds
        self._averaged = averaged
        self._in_background = in_background
        self._writes = writes
        self._files: dict[Path, dict[str, Entry]] = {}  # oldest first
        self._damaged: list[Path] = []
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None
        self._failure: str | None = None
        self._warned = False
        if writes:
            clear_leftovers(self.folder, TEMPORARY)
        found = [path for path in self.folder.glob(NAMES) if path.is_file()]
        self._read([*found, *(() if part is None else part.states)])
        for task in self.folder.glob(f"{TASK}*") if writes else ():  # of a training that was killed
            self.adopt(task)

    def _read(self, paths: Sequence[Path]) -> None:
        for path in sorted(paths, key=lambda each: (each.stat().st_mtime_ns, each.name)):
            entries = read_entries(path)
            if entries is None:
                self._damaged.append(path)
            else:
                self._files[path] = entries

    def adopt(self, task: Path) -> None:
        """Move the checkpoints of a task of a cluster here and remove its folder."""
        self._read([path.replace(self.folder / path.name) for path in task.glob(NAMES)])
        shutil.rmtree(task, ignore_errors=True)

    def find(self, specs: Sequence[RunSpec], total: int) -> dict[str, Entry]:
        """Where these runs can resume, by hash; warns which of `total` runs resume, or why none does."""
        found = {spec.hash: place[1] for spec in specs if (place := self.newest(spec)) is not None}
        if specs and self._damaged:
            names = ", ".join(map(str, self._damaged))
            then = "older checkpoints are used if there are any" if found else "training starts over"
            _warn(f"{names} cannot be read or is damaged: {then}.")
        if found:
            epochs = sorted({entry.epoch for entry in found.values()})
            where = f"epoch {epochs[0]}" + (f" to {epochs[-1]}" if len(epochs) > 1 else "")
            versions = sorted({entry.torch for entry in found.values()} - {torch.__version__})
            note = f", saved by torch {', '.join(versions)}: last digits may differ" if versions else ""
            _warn(f"resuming {len(found)} of {total} runs from {where}{note}.")
        elif specs and (unfinished := self._unfinished()):
            own = any(spec.hash in unfinished for spec in specs)
            reason = "lack the averaged probabilities" if own else "belong to other settings or data"
            _warn(f"training starts over: the checkpoints in {self.folder} {reason}.")
        return found

    def newest(self, spec: RunSpec) -> tuple[Path, Entry] | None:
        """Where the run can resume: a file and its entry; None if only from the beginning."""
        self._wait()
        with self._lock:
            places = [(path, runs[spec.hash]) for path, runs in self._files.items() if spec.hash in runs]
        usable = [
            (path, entry)
            for path, entry in places
            if entry.epoch < spec.epochs
            and not (self._averaged and is_averaged(spec, entry.epoch) and not entry.averaged)
        ]
        return max(usable, key=lambda place: place[1].epoch, default=None)

    def load(self, spec: RunSpec) -> RowState:
        """The newest state of a run that can resume."""
        place = self.newest(spec)
        assert place is not None
        return load_state(place[0], spec.hash, place[1])

    def saver(self) -> SaveStates:
        """A function that saves the states of a block when a checkpoint is due."""
        return partial(self._save, Interval(self._seconds)) if self._writes else lambda *_: None

    def _save(
        self, interval: Interval, take: Callable[[], States], size: Callable[[], int], stopping: bool
    ) -> None:
        self.warn_of_failure()
        if self._is_writing() and interval.seconds is None:
            return
        self._wait()
        if not interval.is_due(size) and not (stopping and size() <= ASSUMED_SPEED):
            return
        started, states = time.perf_counter(), take()

        def write() -> None:
            self._add(states)
            interval.record(time.perf_counter() - started)

        if self._in_background:  # the states are copies
            self._writer = threading.Thread(target=write, daemon=True)
            self._writer.start()
        else:
            write()

    def _is_writing(self) -> bool:
        return self._writer is not None and self._writer.is_alive()

    def _wait(self, timeout: float | None = None) -> None:
        if self._writer is not None:
            self._writer.join(timeout)

    def _add(self, states: States) -> None:
        """Write a checkpoint; if that fails, training continues and `warn_of_failure` reports it."""
        try:
            path = write_checkpoint(self.folder, states)
        except Exception as error:  # most likely a full disk
            self._failure = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            return
        with self._lock:
            self._files.pop(path, None)
            self._files[path] = _entries(states)
            self._delete_unneeded()

    def warn_of_failure(self) -> None:
        """Warn once that a checkpoint could not be written; from the thread that trains."""
        if self._failure is not None and not self._warned:
            self._warned = True
            _warn(f"cannot write to {self.folder} ({self._failure}): training continues; free space.")

    def _unfinished(self) -> dict[str, list[Path]]:
        """The files of each run without a folder, oldest first."""
        files = defaultdict(list)
        for path, entries in self._files.items():
            for run, entry in entries.items():
                if not (self._out / entry.folder / "spec.json").is_file():
                    files[run].append(path)
        return files

    def _delete_unneeded(self) -> None:
        needed = {path for paths in self._unfinished().values() for path in paths[-GENERATIONS:]}
        for path in [*self._damaged, *(self._files.keys() - needed)]:
            self._files.pop(path, None)
            if path.parent == self.folder:  # others belong to the process that started this task
                with suppress(OSError):
                    path.unlink()
        self._damaged.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Wait for the checkpoint that is being written, and delete those that are no longer needed."""
        if not self._writes:
            return
        self._wait(None if kind is None else EXIT_TIMEOUT)
        if not self._is_writing():
            self._delete_unneeded()
            with suppress(OSError):
                self.folder.rmdir()
        if kind is None:
            self.warn_of_failure()


def open_checkpoints(
    out: Path | None,
    seconds: float | None,
    *,
    averaged: bool,
    in_background: bool,
    writes: bool,
    part: Part | None = None,
) -> AbstractContextManager[Checkpoints | None]:
    """The checkpoints in an output folder; None without a folder, or if they are off.

    Only states that are copies, such as those of a GPU, can be written `in_background`. If several processes
    train, only one of them `writes`.
    """
    if out is None or seconds == math.inf:
        return nullcontext()
    how = {"averaged": averaged, "in_background": in_background, "writes": writes}
    return Checkpoints(out, seconds, **how, part=part)


def _warn(message: str) -> None:
    warnings.warn(message, Notice, stacklevel=4)
