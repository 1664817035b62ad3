"""Training a cohort of runs: as one block on a GPU, as one block per core on a CPU."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import torch

from noiselimit.data.arrays import LazyInputs
from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import Backend
from noiselimit.engine.block import Block
from noiselimit.engine.block_data import device_inputs
from noiselimit.engine.callbacks import MakeCallback
from noiselimit.engine.checkpoints import Checkpoints
from noiselimit.engine.network_stack import State
from noiselimit.engine.preparation import PreparedRun
from noiselimit.engine.results import OnEpoch, Record, Row, RowState, RunResult, Stopped
from noiselimit.engine.retry import train_on_gpu, with_fallback
from noiselimit.methods import get_method
from noiselimit.networks import Role
from noiselimit.runs.spec import RunSpec, architecture


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
    device: torch.device
    threads: int
    threads_per_block: int
    """On a CPU there are `threads // threads_per_block` blocks."""
    backend: Backend
    on_epoch: OnEpoch
    on_result: Callable[[RunResult], None]
    """Called with positions in `specs`, from worker threads, one call at a time."""
    callback: MakeCallback | None = None
    """Makes a callback for each block."""
    checkpoints: Checkpoints | None = None
    """Saves the states of rows. Rows with a saved state resume from it."""
    stop: Callable[[], bool] = lambda: False
    """Called at every step, or after epochs that are short; if it returns True, `train` raises `Stopped`."""

    def __post_init__(self) -> None:
        self._streamed = isinstance(self.data.examples.inputs, LazyInputs)
        self._inputs = device_inputs(self.data, self.device)
        self._finished: set[int] = set()
        self._abort = threading.Event()
        self._lock = threading.Lock()

    def train(self) -> None:
        """Train all rows, in parallel blocks on a CPU."""
        # One block for streamed data: each block would decode the pictures again.
        one_block = self._streamed or self.device.type == "cuda"
        blocks = 1 if one_block else max(1, self.threads // self.threads_per_block)
        shares = plan_blocks(self.specs, blocks, self._saved_epochs(range(len(self.specs))))
        with ExitStack() as stack, ThreadPoolExecutor(len(shares)) as pool:
            stack.callback(torch.set_num_threads, torch.get_num_threads())
            futures = [pool.submit(self._train_share, share) for share in shares]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                self._abort.set()
                raise
        if len(self._finished) < len(self.specs):
            raise Stopped

    def _make_block(
        self, rows: Sequence[int], backend: Backend, resumed: Mapping[int, RowState] | None = None
    ) -> Block:
        """A block of these rows, from the beginning or from their saved states."""
        return Block(
            [Row(i, self.specs[i], self.prepared[i], self.parents[i]) for i in rows],
            self.data,
            self._inputs,
            self.device,
            backend,
            cohort=len(self.specs),
            callback=self.callback,
            resumed=resumed,
        )

    def _should_stop(self) -> bool:
        return self._abort.is_set() or self.stop()

    def _saved_epochs(self, rows: Sequence[int]) -> list[int]:
        found = [self.checkpoints and self.checkpoints.newest(self.specs[row]) for row in rows]
        return [entry.epoch if entry else 0 for entry in found]

    def _train_share(self, rows: Sequence[int]) -> None:
        """The work of one thread."""
        torch.set_num_threads(self.threads_per_block)  # applies to this thread only
        try:
            if self.device.type == "cuda":
                largest_first = sorted(
                    rows, key=lambda i: not get_method(self.specs[i].method).needs_predictor
                )
                train_on_gpu(
                    largest_first,
                    self.backend,
                    self.device,
                    self._make_block,
                    self._train_rows,
                    can_rehearse=not self._streamed,
                )
            else:
                with_fallback(rows, self.backend, self._train_rows)
        except Stopped:
            return  # `train` raises it, unless another block failed
        except BaseException:
            self._abort.set()
            raise

    def _train_rows(self, rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        """Train the unfinished ones of these rows; those saved at the same epoch form a block."""
        left = [row for row in rows if row not in self._finished]
        epochs = self._saved_epochs(left)
        for epoch in sorted(set(epochs), reverse=True):
            if not self._should_stop():
                self._train_block(
                    [row for row, own in zip(left, epochs, strict=True) if own == epoch],
                    epoch,
                    backend,
                    begun,
                )

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
