"""`train`: train runs from specs and examples, or load those that exist."""

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from noiselimit.data.arrays import LazyInputs
from noiselimit.data.catalogue import as_data_set
from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import Backend, check_threads, fast_precision, find_backend, find_device
from noiselimit.engine.block_networks import check_start, check_weights
from noiselimit.engine.callbacks import Averages
from noiselimit.engine.checkpoints import Checkpoints, Entry, Part, open_checkpoints, parse_interval
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

if TYPE_CHECKING:
    from noiselimit.integrations.tasks import Engine


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
    engine: "Engine | str | None" = None,
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
    engine : {'ray', 'slurm'} or Engine, optional
        Train on a cluster; see `noiselimit.integrations.clusters`. All its machines must see `out`.
        `threads` is then the number of CPUs of each task, by default 1.

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
    if distributed and engine is not None:
        raise InputError("distributed and engine both say where to train: give one of them.")
    data, interval = as_data_set(examples), parse_interval(checkpoints)
    folder = None if out is None else Path(out)
    how: dict[str, Any] = {"device": str(device), "kernels": kernels, "graphs": graphs}
    how |= {"threads": threads, "threads_per_block": threads_per_block}
    with _cluster(engine, folder, how) as cluster:
        backend = make_backend(**how, distributed=distributed) if cluster is None else Backend()
        processes = backend.processes
        fast = fast_precision(backend.device) if cluster is None else cluster.precision(listed)
        bound = [bind(spec, data, fast, distributed=processes.count > 1) for spec in listed]
        facts = [sorted(spec.hash for spec in bound), averaged, folder is None, checkpoints == "off"]
        processes.require_same("data or arguments", facts)
        processes.require_batches(min(spec.batch_size for spec in bound))
        with (
            processes.quiet(),
            shown_progress(None if processes.rank else progress) as show,
            _prepared_folder(folder if processes.rank == 0 else None),
        ):
            if cluster is not None and folder is not None:
                show = cluster.uploading(folder, show)
            trainer = Trainer(data, folder, backend, averaged, interval, show, stop, cluster)
            runs = trainer.train(bound)
    return [runs[spec.hash] for spec in bound]


def make_backend(
    device: str,
    threads: int | None,
    threads_per_block: int,
    kernels: str,
    graphs: str,
    *,
    distributed: bool = False,
) -> Backend:
    """Check the arguments of `train` that say how this machine is used."""
    found = find_device(own_device(device) if distributed else device)
    processes = find_processes(found) if distributed else ALONE
    backend = find_backend(kernels, graphs, found, several=processes.count > 1)
    threads = check_threads(threads, threads_per_block)
    return replace(backend, threads=threads, threads_per_block=threads_per_block, processes=processes)


@contextmanager
def _prepared_folder(folder: Path | None) -> Iterator[None]:
    """Lock the folder of the runs and clear what an interrupted training left there."""
    with nullcontext() if folder is None else folder_lock(folder):
        if folder is not None:
            clear_leftovers(folder, rf"{RUN_FOLDER}|summary\.json|report\.html|\.command\.json")
        yield


def _cluster(
    engine: "Engine | str | None", out: Path | None, how: Mapping[str, Any]
) -> "AbstractContextManager[Engine | None]":
    if engine is None:
        return nullcontext()
    from noiselimit.integrations.clusters import open_engine

    return open_engine(engine, out, how)


@dataclass(eq=False)
class Trainer:
    """One call of `train`, or one task of it."""

    data: DataSet
    folder: Path | None
    backend: Backend
    averaged: bool
    interval: float | None
    progress: Callable[[Progress], None] | None
    stop: Callable[[], bool] | None
    cluster: "Engine | None" = None
    part: Part | None = None
    prepared: dict[str, PreparedRun] = field(init=False)
    checkpoints: Checkpoints | None = field(init=False)
    epochs_done: dict[str, int] = field(init=False)
    epochs_planned: int = field(init=False)

    def train(self, bound: Sequence[RunSpec]) -> dict[str, Run]:
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
            self.report(run.spec, run.spec.epochs)
        with self._open_checkpoints() as self.checkpoints:
            self._report_checkpoints(specs, missing, runs)
            for has_parent in (False, True):
                generation = [spec for spec in missing if (spec.parent is not None) is has_parent]
                runs |= {run.spec.hash: run for run in self._train_generation(generation, runs)}
        return runs

    def _open_checkpoints(self) -> AbstractContextManager[Checkpoints | None]:
        return open_checkpoints(
            self.folder,
            self.interval,
            averaged=self.averaged,
            in_background=self.backend.device.type == "cuda",
            writes=self.backend.processes.rank == 0,
            part=self.part,
        )

    def _report_checkpoints(
        self, specs: Mapping[str, RunSpec], missing: Sequence[RunSpec], runs: Mapping[str, Run]
    ) -> None:
        """Report the epochs that need not be trained again. All processes must have found the same."""
        found: Mapping[str, Entry] = {}
        if self.checkpoints is not None and self.part is None:
            found = self.checkpoints.find(missing, len(specs))
        epochs = sorted((name, entry.epoch) for name, entry in found.items())
        self.backend.processes.require_same(
            f"the runs or checkpoints in {self.folder}", [sorted(runs), epochs]
        )
        for name, epoch in epochs:
            self.report(specs[name], epoch)

    def report(self, spec: RunSpec, epoch: int, record: Record | None = None) -> None:
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
        plan = plan_cohorts(able, streamed=isinstance(self.data.examples.inputs, LazyInputs))
        cohorts = [[able[i] for i in positions] for positions in plan]
        if self.cluster is not None and cohorts:
            from noiselimit.integrations.tasks import Tasks

            Tasks(self.cluster, self).train(cohorts)
            return [*runs, *find_runs(self.folder, able).values()]
        for cohort in cohorts:
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
            on_epoch=lambda row, record: self.report(specs[row], int(record["epoch"] or 0), record),
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
        self.report(spec, spec.epochs)
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
