"""Training a cohort of runs: as one block on a GPU, as one block per core on a CPU.

If memory runs out, half as many rows train at once. If the Triton kernels fail, torch's kernels are used.
"""

import gc
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

import torch

from noiselimit.data.arrays import LazyInputs, Rows
from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import Backend
from noiselimit.engine.block import Block
from noiselimit.engine.block_data import device_inputs
from noiselimit.engine.callbacks import MakeCallback
from noiselimit.engine.checkpoints import Checkpoints
from noiselimit.engine.preparation import PreparedRun
from noiselimit.engine.results import OnEpoch, Record, Row, RowState, RunResult, State, Stopped
from noiselimit.errors import InputError, Notice, first_line
from noiselimit.machine import available_cores, lacks_memory
from noiselimit.methods import get_method
from noiselimit.networks import Role
from noiselimit.runs.spec import RunSpec, architecture

_one_at_a_time = threading.Lock()
"""No kernel may be launched while others are compiled, and cuDNN's settings are global."""


def plan_cohorts(specs: Sequence[RunSpec], *, streamed: bool = False) -> list[list[int]]:
    """Group the positions of specs that can be rows of one tensor program.

    Rows need the same shapes (networks, batch size, number of examples) and the same update rule. Method,
    hyper-parameters, learning rate, noise, seed and number of epochs may differ. If pictures are streamed,
    one decoded batch serves all rows, so all must visit the same examples in the same order.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for position, spec in enumerate(specs):
        key = (
            architecture(spec, Role.CLASSIFIER),
            architecture(spec, Role.PREDICTOR),
            spec.batch_size,
            spec.sampler,
            spec.augmentation,
            spec.optimiser,
            spec.precision,
            spec.batch_norm,
            spec.validation_share,
            spec.validation_labels,
            spec.test_share,
            spec.train_size,
            spec.seed if streamed else None,
            spec.noise if streamed and spec.sampler != "shuffled" else None,  # the order depends on labels
        )
        groups.setdefault(key, []).append(position)
    return list(groups.values())


def cost(spec: RunSpec, done: int = 0) -> float:
    """Relative cost of the remaining epochs of a run: epochs times networks."""
    return (spec.epochs - done) * (2.0 if get_method(spec.method).needs_predictor else 1.0)


def plan_blocks(specs: Sequence[RunSpec], blocks: int, done: Sequence[int] | None = None) -> list[list[int]]:
    """Distribute the positions of specs over at most `blocks` blocks of about equal cost, none empty.

    `done`: finished epochs of each spec.
    """
    costs = [cost(spec, epochs) for spec, epochs in zip(specs, done or [0] * len(specs), strict=True)]
    shares: list[list[int]] = [[] for _ in range(min(blocks, len(specs)))]
    loads = [0.0] * len(shares)
    for position in sorted(range(len(specs)), key=lambda i: -costs[i]):
        lightest = loads.index(min(loads))
        shares[lightest].append(position)
        loads[lightest] += costs[position]
    return [sorted(share) for share in shares]


@dataclass(eq=False)
class CohortTrainer:
    """Trains all specs as rows of one cohort.

    With one thread per block, a row's result is bitwise the same alone and in any cohort, because its
    arithmetic has the same shapes and the same order of summation. More threads per block change the last
    digits.
    """

    specs: Sequence[RunSpec]
    prepared: Sequence[PreparedRun]
    parents: Sequence[State | None]
    """For each spec, the classifier of the run it starts from, or None."""
    data: DataSet
    backend: Backend
    on_epoch: OnEpoch
    on_result: Callable[[RunResult], None]
    """Called with positions in `specs`, from worker threads, one call at a time."""
    callback: MakeCallback | None = None
    """Makes a callback for each block."""
    checkpoints: Checkpoints | None = None
    """Saves the states of rows. Rows with a saved state resume from it."""
    stop: Callable[[], bool] | None = None
    """Called at every step, or after epochs that are short; if it returns True, `train` raises `Stopped`."""

    def __post_init__(self) -> None:
        self._streamed = isinstance(self.data.examples.inputs, LazyInputs)
        self._inputs = device_inputs(self.data, self.backend.device)
        self._finished: set[int] = set()
        self._abort = threading.Event()
        self._lock = threading.Lock()

    def train(self) -> None:
        """Train all rows, in parallel blocks on a CPU."""
        # One block for streamed pictures: each block would decode them again. One for several processes: the
        # messages of blocks would mix.
        decodes = self._streamed and not isinstance(self.data.examples.inputs, Rows)
        several = self.backend.processes.count > 1
        one_block = decodes or several or self.backend.device.type == "cuda"
        blocks = 1 if one_block else self.backend.threads // self.backend.threads_per_block
        shares = plan_blocks(self.specs, blocks, self._saved_epochs(range(len(self.specs))))
        before = torch.get_num_threads()
        try:
            with ThreadPoolExecutor(len(shares)) as pool:
                for future in [pool.submit(self._train_share, share) for share in shares]:
                    try:
                        future.result()
                    except BaseException:
                        self._abort.set()
                        raise
        finally:
            torch.set_num_threads(before)
        if len(self._finished) < len(self.specs):
            raise Stopped

    def _should_stop(self) -> bool:
        """Whether to stop, in any process: all must call this, and stop, at the same time."""
        stop = self._abort.is_set() or (self.stop is not None and self.stop())
        return self.backend.processes.any(stop)

    def _saved_epochs(self, rows: Sequence[int]) -> list[int]:
        found = [self.checkpoints and self.checkpoints.newest(self.specs[row]) for row in rows]
        return [place[1].epoch if place else 0 for place in found]

    def _train_share(self, rows: Sequence[int]) -> None:
        """The work of one thread."""
        torch.set_num_threads(self.backend.threads_per_block)  # applies to this thread only
        try:
            if self.backend.device.type == "cuda":
                self._train_on_gpu(rows)
            else:
                with_fallback(rows, self.backend, self._train_rows)
        except Stopped:
            return  # `train` raises it, unless another block failed
        except BaseException:
            self._abort.set()
            raise

    def _train_on_gpu(self, rows: Sequence[int]) -> None:
        # Rows that need most memory come first: if they fit, so do the others.
        rows = sorted(rows, key=lambda i: not get_method(self.specs[i].method).needs_predictor)
        device = self.backend.device
        torch.cuda.synchronize(device)  # the inputs were sent on another stream
        autotuned = torch.backends.cudnn.flags(enabled=True, benchmark=True)
        stream = torch.cuda.stream(_stream(device))
        with _one_at_a_time, torch.cuda.device(device), stream, autotuned:
            if self.backend.kernels and not self._streamed:  # which would decode pictures
                with suppress(Exception):  # training reports what does not compile
                    self._make_block(rows[:1], self.backend).compile_kernels(available_cores())
                release_memory()
            with_fallback(rows, self.backend, self._train_rows)
            release_memory()

    def _train_rows(self, rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        """Train the unfinished ones of these rows; those saved at the same epoch form a block."""
        left = [row for row in rows if row not in self._finished]
        epochs = self._saved_epochs(left)
        for epoch in sorted(set(epochs), reverse=True):
            if not self._should_stop():
                own = [row for row, saved in zip(left, epochs, strict=True) if saved == epoch]
                self._train_block(own, epoch, backend, begun)

    def _train_block(self, rows: Sequence[int], epoch: int, backend: Backend, begun: threading.Event) -> None:
        def on_epoch(row: int, record: Record) -> None:
            begun.set()
            with self._lock:
                self.on_epoch(row, record)

        resumed, save = None, None
        if self.checkpoints is not None:
            save = self.checkpoints.saver()
            resumed = {row: self.checkpoints.load(self.specs[row]) for row in rows} if epoch else None
        for result in self._make_block(rows, backend, resumed).train(on_epoch, self._should_stop, save):
            begun.set()
            with self._lock:
                self.on_result(result)
                self._finished.add(result.row)

    def _make_block(
        self, rows: Sequence[int], backend: Backend, resumed: Mapping[int, RowState] | None = None
    ) -> Block:
        """A block of these rows, from the beginning or from their saved states."""
        return Block(
            [Row(i, self.specs[i], self.prepared[i], self.parents[i]) for i in rows],
            self.data,
            self._inputs,
            backend,
            cohort=len(self.specs),
            callback=self.callback,
            resumed=resumed,
        )


Train = Callable[[Sequence[int], Backend, threading.Event], None]
"""Trains the unfinished ones of these rows; sets the event after the first epoch."""


def with_fallback(rows: Sequence[int], backend: Backend, train: Train) -> None:
    """Train the rows, after a failure with half as many at once or with torch's kernels.

    Kernels can only be the cause before the first epoch is done. Memory can run out at any time.
    """
    left, most = list(rows), len(rows)
    while left:
        begun, notice = threading.Event(), ""
        try:
            train(left[:most], backend, begun)
            left = left[most:]
        except (InputError, Stopped):
            raise
        except Exception as error:  # also OSError: the cache of a compiler may be read-only
            if backend.processes.count > 1:
                raise  # the others would not follow
            if lacks_memory(error):
                notice = _split_notice(len(left[:most]), error, begun=begun.is_set())
                most = -(-len(left[:most]) // 2)
            elif begun.is_set() or not backend.kernels:
                raise
            else:
                backend = replace(backend, kernels=False)
                notice = (
                    f"the Triton kernels failed ({type(error).__name__}: {first_line(error)}), so torch's "
                    "are used: slower, same results; --kernels off hides this message."
                )
        if notice:
            warnings.warn(notice, Notice, stacklevel=2)
        if left:
            release_memory()  # outside of `except`, whose traceback holds the failed block


def _split_notice(rows: int, error: Exception, *, begun: bool) -> str:
    on_device = isinstance(error, torch.OutOfMemoryError)
    memory = "the device's memory" if on_device else "the machine's memory"
    if rows == 1:
        remedy = "device cpu" if on_device else "fewer threads"
        raise InputError(f"a run does not fit into {memory}: lower batch_size, or use {remedy}.") from None
    then = "resume in smaller cohorts, from their last checkpoints if there are any" if begun else ""
    return f"{rows} runs do not fit into {memory} at once: they {then or 'train in smaller cohorts'}."


def release_memory() -> None:
    """Free the memory of old blocks. They contain reference cycles, so the garbage collector must run."""
    gc.collect()
    torch.cuda.empty_cache()


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """One stream for all trainings: graphs cannot be recorded on the default one."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
