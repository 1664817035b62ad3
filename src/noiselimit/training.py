"""`train`: from specs and examples to runs, skipping what exists and keeping what is done."""

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from noiselimit.data.arrays import LazyInputs
from noiselimit.data.catalogue import as_data_set
from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import Backend, fast_precision, find_backend, find_device
from noiselimit.engine.callbacks import make_averages
from noiselimit.engine.checkpoints import (
    Checkpoints,
    CohortKeeper,
    open_checkpoints,
    parse_interval,
    tell_of_begun,
)
from noiselimit.engine.cohort import CohortTrainer, plan_cohorts
from noiselimit.engine.pair import check_start, check_weights
from noiselimit.engine.preparation import PreparedRun, prepare_all
from noiselimit.engine.results import Record, RunResult
from noiselimit.engine.results import Stopped as Stopped
from noiselimit.engine.rows import State
from noiselimit.errors import InputError
from noiselimit.files import clear_leftovers, folder_lock
from noiselimit.machine import MOST_THREADS, available_cores
from noiselimit.networks import Role
from noiselimit.runs.binding import bind, parent_spec
from noiselimit.runs.folder import load_run, write_run
from noiselimit.runs.result import make_run, require_averaged
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RUN_FOLDER, RunSpec


@dataclass(frozen=True)
class Progress:
    """How far a training has come; given to the `progress` function after every epoch and run."""

    done: int
    """Epochs finished, all runs together; those that early stopping saved count as done."""
    total: int
    """Epochs planned, all runs together."""
    spec: RunSpec
    """The run this news is about."""
    record: Record | None
    """Its latest epoch, or None when the run has just ended or was found finished or begun."""


def train(
    specs: RunSpec | Sequence[RunSpec],
    examples: Any,
    *,
    out: str | Path | None = None,
    device: str | torch.device = "auto",
    threads: int | None = None,
    threads_per_block: int = 1,
    kernels: str = "auto",
    graphs: str = "auto",
    averaged: bool = False,
    checkpoints: str | float = "auto",
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Run]:
    """Train every spec and return the runs in the order of the specs.

    `examples` are an Examples or DataSet, a pair (inputs, labels), or a torch Dataset. With `out`, every run
    gets its folder there as soon as it is done, and a run whose folder exists is read instead of trained.
    Specs that can be rows of one tensor program train as one cohort. What a spec starts from (the CE run of
    fw, dmi and +init) is trained first, or read if its folder is there. On a CPU, `threads` (default: all
    cores) are used in blocks of `threads_per_block`; with one thread per block, results do not depend on what
    else is trained beside. On a GPU, `kernels` and `graphs` ('auto', 'on' or 'off') say whether our own
    kernels are used and whether steps are recorded and replayed; what fails falls back with a `Notice`.
    `averaged` also averages the networks' probabilities over the second half of the epochs (`Run.averaged`),
    in 4 bytes × examples × classes of the device's memory for each network; it changes nothing in training.
    With `out`, the states of runs that still train are kept in its folder .checkpoints, and a call after an
    interruption goes on from there, on a CPU to the same end bit by bit: 'auto' writes them as often as costs
    less than 2 % of the time, a number of seconds not more often than that (0: after every epoch), and 'off'
    neither writes nor uses any. One process at a time trains in a folder; another is refused.
    `stop` is asked at every step, in the threads that train; once it says yes, this ends with `Stopped`.
    """
    given = [specs] if isinstance(specs, RunSpec) else list(specs)
    if not given or not all(isinstance(spec, RunSpec) for spec in given):
        raise InputError("specs must be at least one RunSpec: make them with noiselimit.grid(...).")
    data = as_data_set(examples)
    where = find_device(str(device))
    backend = find_backend(kernels, graphs, where)
    bound = [bind(spec, data, fast_precision(where)) for spec in given]
    cores = available_cores() if threads is None else threads
    for name, value, most in (
        ("threads", cores, MOST_THREADS),
        ("threads_per_block", threads_per_block, cores),
    ):
        if not isinstance(value, int) or not 1 <= value <= most:
            raise InputError(f"{name} is {value}: give a whole number from 1 to {most}.")
    folder = Path(out) if out is not None else None
    interval = parse_interval(checkpoints)
    with _held(folder):
        by_hash = {spec.hash: spec for spec in bound}
        runs = {spec.hash: run for spec in by_hash.values() if (run := _find_run(spec, folder)) is not None}
        for run in runs.values() if averaged else ():
            require_averaged(run)
        missing = [spec for spec in by_hash.values() if spec.hash not in runs]
        for parent in {spec.hash: spec for spec in map(parent_spec, missing) if spec is not None}.values():
            by_hash[parent.hash] = parent
            if parent.hash not in runs and (run := _find_run(parent, folder)) is not None:
                runs[parent.hash] = run
        missing = [spec for spec in by_hash.values() if spec.hash not in runs]
        shape, classes = data.examples.input_shape, data.examples.classes
        taken_over = {spec.parent for spec in missing}
        for run in runs.values():
            if run.metrics["best_epoch"] and (run.spec.names_code or run.spec.hash in taken_over):
                _check_weights(run, shape, classes)
        for spec in {(spec.network, spec.initial_weights): spec for spec in missing}.values():
            check_start(spec, shape, classes)
        # All of it before the first file is written: a size or a noise that does not fit is told of here.
        prepared = {spec.hash: ready for spec, ready in zip(missing, prepare_all(missing, data), strict=True)}
        tally = _Tally(by_hash, progress)
        for spec_hash in runs:
            tally.ended(by_hash[spec_hash])
        with open_checkpoints(folder, interval, where, averaged=averaged) as kept:
            if kept is not None:
                begun = kept.find(missing)
                for spec_hash, entry in begun.items():
                    tally.begun(by_hash[spec_hash], entry.epoch)
                tell_of_begun(list(begun.values()), len(by_hash))
            workshop = _Workshop(
                data, folder, where, cores, threads_per_block, backend, averaged, prepared, tally, kept, stop
            )
            for generation in (
                [spec for spec in missing if spec.parent is None],
                [spec for spec in missing if spec.parent is not None],
            ):
                for run in workshop.train(generation, runs):
                    runs[run.spec.hash] = run
        return [runs[spec.hash] for spec in bound]


@contextmanager
def _held(folder: Path | None) -> Iterator[None]:
    """Keep other processes out of the folder, and clear away what dead ones left of runs half written."""
    if folder is None:
        yield
        return
    with folder_lock(folder):
        clear_leftovers(folder, rf"{RUN_FOLDER}|summary\.json|report\.html|\.command\.json")
        yield


def _find_run(spec: RunSpec, folder: Path | None) -> Run | None:
    """The run of this spec, if the folder has it."""
    place = folder / spec.folder_name if folder is not None else None
    if place is None or not place.exists():
        return None
    if not (place / "spec.json").exists():
        raise InputError(f"{place} stands where this run belongs but holds no run: delete it.")
    run = load_run(place, trusted=True)  # the caller's own spec names the same code, if any
    if run.spec != spec:
        raise InputError(f"{place} holds another run than its name says: delete it.")
    return run


def _check_weights(run: Run, input_shape: tuple[int, ...], classes: int) -> None:
    """Refuse a found run whose weights are not those of the networks that its spec names now."""
    check_weights(run.spec, Role.CLASSIFIER, run.weights.classifier, input_shape, classes)
    if run.weights.predictor is not None:
        check_weights(run.spec, Role.PREDICTOR, run.weights.predictor, input_shape, classes)


@dataclass(frozen=True, eq=False)
class _Workshop:
    """What the trainings of one call share."""

    data: DataSet
    folder: Path | None
    device: torch.device
    threads: int
    threads_per_block: int
    backend: Backend
    averaged: bool
    prepared: Mapping[str, PreparedRun]
    tally: "_Tally"
    checkpoints: Checkpoints | None
    stop: Callable[[], bool]

    def train(self, specs: Sequence[RunSpec], done: Mapping[str, Run]) -> list[Run]:
        """The runs of these specs, whose parents are all among those done."""
        orphans = {
            spec.hash: _of_failed_parent(done[spec.parent])
            for spec in specs
            if spec.parent is not None and done[spec.parent].failed
        }
        runs = [self._failed(spec, orphans[spec.hash]) for spec in specs if spec.hash in orphans]
        able = [spec for spec in specs if spec.hash not in orphans]
        for positions in plan_cohorts(able, streamed=isinstance(self.data.examples.inputs, LazyInputs)):
            cohort = [able[i] for i in positions]
            parents = [None if s.parent is None else done[s.parent].weights.classifier for s in cohort]
            runs += self._train_cohort(cohort, parents)
        return runs

    def _train_cohort(self, specs: Sequence[RunSpec], parents: Sequence[State | None]) -> list[Run]:
        started = time.perf_counter()
        prepared = [self.prepared[spec.hash] for spec in specs]
        runs: list[Run] = []
        checkpointer = None if self.checkpoints is None else CohortKeeper(self.checkpoints, specs)

        def on_result(finished: RunResult) -> None:
            spec = specs[finished.row]
            seconds = (
                time.perf_counter() - started if checkpointer is None else checkpointer.seconds(finished.row)
            )
            facts = {
                "cohort": len(specs),
                "cohort_seconds": round(seconds, 3),
                **circumstances(self.device),
            }
            runs.append(self._ended(make_run(spec, prepared[finished.row], finished, self.data, facts)))

        CohortTrainer(
            specs,
            prepared,
            parents,
            self.data,
            device=self.device,
            threads=self.threads,
            threads_per_block=self.threads_per_block,
            backend=self.backend,
            on_epoch=lambda row, record: self.tally.epoch(specs[row], record),
            on_result=on_result,
            callback=make_averages if self.averaged else None,
            checkpointer=checkpointer,
            stop=self.stop,
        ).train()
        return runs

    def _failed(self, spec: RunSpec, reason: str) -> Run:
        """A run that could not begin."""
        facts = {"cohort": 0, "cohort_seconds": 0.0, **circumstances(self.device)}
        never = RunResult(row=0, history=(), best_epoch=0, failure=reason)
        return self._ended(make_run(spec, self.prepared[spec.hash], never, self.data, facts))

    def _ended(self, run: Run) -> Run:
        kept = write_run(run, self.folder) if self.folder is not None else run
        self.tally.ended(run.spec)
        return kept


def _of_failed_parent(parent: Run) -> str:
    """Why a child failed, with the remedy that helps its parent."""
    reason = str(parent.metrics["failure"]).rpartition(": ")[0] or parent.metrics["failure"]
    return f"its parent run {parent.path or parent.spec.hash} failed ({reason}): lower parent_learning_rate"


def circumstances(device: torch.device) -> dict[str, Any]:
    """Where and with what something was computed."""
    from noiselimit import __version__

    processor = torch.cuda.get_device_name(device) if device.type == "cuda" else _processor()
    versions = {"noiselimit": __version__, "torch": torch.__version__, "numpy": np.__version__}
    return {"device": processor, "versions": {**versions, "python": platform.python_version()}}


def _processor() -> str:
    """The CPU's own name where the system tells it."""
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    return f"{name}, {available_cores()} cores"


class _Tally:
    """Counts epochs over all runs and passes the news on."""

    def __init__(self, specs: Mapping[str, RunSpec], progress: Callable[[Progress], None] | None) -> None:
        self._done = dict.fromkeys(specs, 0)
        self._total = sum(spec.epochs for spec in specs.values())
        self._progress = progress

    def begun(self, spec: RunSpec, epochs: int) -> None:
        self._done[spec.hash] = epochs
        self._tell(spec, None)

    def epoch(self, spec: RunSpec, record: Record) -> None:
        self._done[spec.hash] = int(record["epoch"] or 0)  # no sum: a cohort may have to begin anew
        self._tell(spec, record)

    def ended(self, spec: RunSpec) -> None:
        self._done[spec.hash] = spec.epochs
        self._tell(spec, None)

    def _tell(self, spec: RunSpec, record: Record | None) -> None:
        if self._progress is not None:
            self._progress(Progress(sum(self._done.values()), self._total, spec, record))
