"""`train`: train runs from specs and examples, or load those that exist."""

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from noiselimit.data.arrays import LazyInputs
from noiselimit.data.catalogue import as_data_set
from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import Backend, check_threads, fast_precision, find_backend, find_device
from noiselimit.engine.block_networks import check_start, check_weights
from noiselimit.engine.callbacks import Averages
from noiselimit.engine.checkpoints import Checkpoints, open_checkpoints, parse_interval
from noiselimit.engine.cohort import CohortTrainer, plan_cohorts
from noiselimit.engine.distributed import ALONE, find_processes, own_device
from noiselimit.engine.preparation import PreparedRun, bind, parent_spec, prepare_all
from noiselimit.engine.results import Record, RunResult, State
from noiselimit.engine.results import Stopped as Stopped
from noiselimit.errors import InputError
from noiselimit.files import clear_leftovers, folder_lock
from noiselimit.machine import available_cores
from noiselimit.networks import Role
from noiselimit.progress import shown_progress
from noiselimit.runs.folder import find_runs, write_run
from noiselimit.runs.known import require_loadable
from noiselimit.runs.result import make_run, require_averaged
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RUN_FOLDER, RunSpec


@dataclass(frozen=True)
class Progress:
    """The state of a training, passed to the `progress` function after every epoch and run."""

    done: int
    """Epochs finished, over all runs; epochs saved by early stopping count as finished."""
    total: int
    """Epochs planned, over all runs."""
    spec: RunSpec
    """The run that this update is about."""
    record: Record | None
    """Its latest epoch; None if the run has just finished, or was found finished or with a checkpoint."""


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
    progress: Callable[[Progress], None] | bool | None = None,
    stop: Callable[[], bool] | None = None,
    distributed: bool = False,
) -> list[Run]:
    """Train runs; those that can be rows of one tensor program train together.

    Runs that a spec starts from (the CE run of fw, dmi and +init) are trained first.

    Parameters
    ----------
    specs : RunSpec or list of RunSpec
        What to train; see `noiselimit.grid`.
    examples : DataSet, Examples, (inputs, labels) or torch Dataset
        The data.
    out : path, optional
        Folder for the runs. Existing runs are loaded, interrupted ones resume, on a CPU to the same bits.
        Only one process at a time can train in a folder.
    device : str
        'auto', 'cpu' or 'cuda'.
    threads, threads_per_block : int
        Number of CPU threads, by default one per core, and how many of them share a block of runs. With one
        per block, a run's result does not depend on the other runs.
    kernels, graphs : {'auto', 'on', 'off'}
        Custom GPU kernels and CUDA graphs. Both fall back if they fail.
    averaged : bool
        Average the networks' probabilities over the second half of the epochs (`Run.averaged`).
    checkpoints : {'auto', 'off'} or float
        Minimum seconds between two; 0: every epoch; 'auto': less than 2 % of the time.
    progress : bool or function
        True shows the progress on stderr; a function is called after every epoch and run.
    stop : function, optional
        Called from worker threads; once it returns True, training raises `Stopped`. It is called at every
        step or, if epochs take less than a second, after every epoch, whose end is then saved.
    distributed : bool
        Train in all processes of torch's default process group, each on its part of every batch. All must
        call `train` with the same arguments; the first writes files and calls `progress`.

    Returns
    -------
    list of Run
        In the order of the specs.
    """
    listed = [specs] if isinstance(specs, RunSpec) else list(specs)
    if not listed or not all(isinstance(spec, RunSpec) for spec in listed):
        raise InputError("specs must be at least one RunSpec: make them with noiselimit.grid(...).")
    for spec in listed if out is not None else ():
        require_loadable(spec)
    data, found = as_data_set(examples), find_device(own_device(str(device)) if distributed else str(device))
    processes = find_processes(found) if distributed else ALONE
    backend = replace(
        find_backend(kernels, graphs, found, several=processes.count > 1),
        threads=check_threads(threads, threads_per_block),
        threads_per_block=threads_per_block,
        processes=processes,
    )
    bound = [bind(spec, data, fast_precision(found), distributed=processes.count > 1) for spec in listed]
    folder, interval = None if out is None else Path(out), parse_interval(checkpoints)
    facts = [sorted(spec.hash for spec in bound), averaged, folder is None, checkpoints == "off"]
    processes.require_same("data or arguments", facts)
    processes.require_batches(min(spec.batch_size for spec in bound))
    owned = folder if processes.rank == 0 else None
    with (
        processes.quiet(),
        shown_progress(None if processes.rank else progress) as show,
        nullcontext() if owned is None else folder_lock(owned),
    ):
        if owned is not None:
            clear_leftovers(owned, rf"{RUN_FOLDER}|summary\.json|report\.html|\.command\.json")
        trainer = _Trainer(data, folder, backend, averaged, show, stop)
        runs = trainer.train(bound, interval)
    return [runs[spec.hash] for spec in bound]


@dataclass(eq=False)
class _Trainer:
    """One call of `train`."""

    data: DataSet
    folder: Path | None
    backend: Backend
    averaged: bool
    progress: Callable[[Progress], None] | None
    stop: Callable[[], bool] | None
    prepared: dict[str, PreparedRun] = field(init=False)
    checkpoints: Checkpoints | None = field(init=False)
    epochs_done: dict[str, int] = field(init=False)
    epochs_planned: int = field(init=False)

    def train(self, bound: Sequence[RunSpec], interval: float | None) -> dict[str, Run]:
        """Load or train these runs and their parents; returns them by hash."""
        specs, runs = self._find_finished(bound)
        missing = [spec for spec in specs.values() if spec.hash not in runs]
        self._check_weights(missing, runs)
        # Before the first file is written: this raises if a size or a noise does not fit the data.
        ready = prepare_all(missing, self.data)
        self.prepared = {spec.hash: each for spec, each in zip(missing, ready, strict=True)}
        self.epochs_done = dict.fromkeys(specs, 0)
        self.epochs_planned = sum(spec.epochs for spec in specs.values())
        for run in runs.values():
            self._report(run.spec, run.spec.epochs)
        on_gpu, processes = self.backend.device.type == "cuda", self.backend.processes
        with open_checkpoints(
            self.folder, interval, averaged=self.averaged, in_background=on_gpu, writes=processes.rank == 0
        ) as self.checkpoints:
            saved = {} if self.checkpoints is None else self.checkpoints.find(missing, len(specs))
            epochs = sorted((found, entry.epoch) for found, entry in saved.items())
            processes.require_same(f"the runs or checkpoints in {self.folder}", [sorted(runs), epochs])
            for found, epoch in epochs:
                self._report(specs[found], epoch)
            for has_parent in (False, True):
                generation = [spec for spec in missing if (spec.parent is not None) is has_parent]
                runs |= {run.spec.hash: run for run in self._train_generation(generation, runs)}
        return runs

    def _report(self, spec: RunSpec, epoch: int, record: Record | None = None) -> None:
        self.epochs_done[spec.hash] = epoch  # may go back: a cohort that runs out of memory starts over
        if self.progress is not None:
            self.progress(Progress(sum(self.epochs_done.values()), self.epochs_planned, spec, record))

    def _find_finished(self, bound: Sequence[RunSpec]) -> tuple[dict[str, RunSpec], dict[str, Run]]:
        """All specs, with the parents of unfinished ones, and the runs that exist, by hash."""
        specs = {spec.hash: spec for spec in bound}
        runs = find_runs(self.folder, specs.values())
        for run in runs.values() if self.averaged else ():
            require_averaged(run)
        needed = [parent_spec(spec) for spec in specs.values() if spec.hash not in runs]
        parents = {each.hash: each for each in needed if each is not None and each.hash not in specs}
        return specs | parents, runs | find_runs(self.folder, parents.values())

    def _check_weights(self, missing: Sequence[RunSpec], runs: Mapping[str, Run]) -> None:
        """Refuse weights, of existing runs or files, that do not fit the networks named by the specs."""
        shape, classes = self.data.examples.input_shape, self.data.examples.classes
        parents = {spec.parent for spec in missing}
        for run in runs.values():
            if run.metrics["best_epoch"] and (run.spec.names_code or run.spec.hash in parents):
                check_weights(run.spec, Role.CLASSIFIER, run.weights.classifier, shape, classes)
                if run.weights.predictor is not None:
                    check_weights(run.spec, Role.PREDICTOR, run.weights.predictor, shape, classes)
        for spec in {(spec.network, spec.initial_weights): spec for spec in missing}.values():
            check_start(spec, shape, classes)

    def _train_generation(self, specs: Sequence[RunSpec], done: Mapping[str, Run]) -> list[Run]:
        """Train runs whose parents are done; a child of a failed parent fails."""
        failed = {spec.hash for spec in specs if spec.parent is not None and done[spec.parent].failed}
        runs = [self._failed_child(spec, done[spec.parent or ""]) for spec in specs if spec.hash in failed]
        able = [spec for spec in specs if spec.hash not in failed]
        for positions in plan_cohorts(able, streamed=isinstance(self.data.examples.inputs, LazyInputs)):
            cohort = [able[i] for i in positions]
            parents = [None if s.parent is None else done[s.parent].weights.classifier for s in cohort]
            runs += self._train_cohort(cohort, parents)
        return runs

    def _train_cohort(self, specs: Sequence[RunSpec], parents: Sequence[State | None]) -> list[Run]:
        started = time.perf_counter()
        runs: list[Run] = []

        def on_result(result: RunResult) -> None:
            seconds = round(time.perf_counter() - started, 3)
            runs.append(self._finish(specs[result.row], result, len(specs), seconds))

        CohortTrainer(
            specs,
            [self.prepared[spec.hash] for spec in specs],
            parents,
            self.data,
            backend=self.backend,
            on_epoch=lambda row, record: self._report(specs[row], int(record["epoch"] or 0), record),
            on_result=on_result,
            callback=Averages if self.averaged else None,
            checkpoints=self.checkpoints,
            stop=self.stop,
        ).train()
        return runs

    def _failed_child(self, spec: RunSpec, parent: Run) -> Run:
        reason = str(parent.metrics["failure"]).rpartition(": ")[0] or parent.metrics["failure"]
        place = parent.path or parent.spec.hash
        failure = f"its parent run {place} failed ({reason}): lower parent_learning_rate"
        never = RunResult(row=0, history=(), best_epoch=0, failure=failure)
        return self._finish(spec, never, 0, 0.0)

    def _finish(self, spec: RunSpec, result: RunResult, cohort: int, seconds: float) -> Run:
        facts = {"cohort": cohort, "cohort_seconds": seconds, **environment(self.backend.device)}
        processes = self.backend.processes
        if processes.count > 1:
            facts["processes"] = processes.count
        run = make_run(spec, self.prepared[spec.hash], result, self.data, facts)
        if self.folder is not None and processes.rank == 0:
            run = write_run(run, self.folder)
        elif self.folder is not None:  # in a folder that all processes share
            run = replace(run, path=self.folder / spec.folder_name, in_memory=None)
        processes.wait()  # until it is written
        self._report(spec, spec.epochs)
        return run


def environment(device: torch.device) -> dict[str, Any]:
    """The device's name and the versions of Python and libraries, for a run's metrics."""
    from noiselimit import __version__

    versions = {"noiselimit": __version__, "torch": torch.__version__, "numpy": np.__version__}
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _processor()
    return {"device": name, "versions": {**versions, "python": platform.python_version()}}


def _processor() -> str:
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    return f"{name}, {available_cores()} cores"
