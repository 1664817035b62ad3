"""Training a cohort: on a GPU as one block, on a CPU as one block of rows per core."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from noiselimit.data.examples import DataSet
from noiselimit.data.lazy import LazyInputs
from noiselimit.engine.backend import Pace, persevere
from noiselimit.engine.block import Block
from noiselimit.engine.block_data import DeviceInputs, block_data
from noiselimit.engine.evaluation import MakeWatch
from noiselimit.engine.gpu import train_on_gpu
from noiselimit.engine.preparation import PreparedRun
from noiselimit.engine.results import Finished, Keeper, Record, RowState, Stopped
from noiselimit.engine.rows import State
from noiselimit.methods import get_method
from noiselimit.networks.initial import Role
from noiselimit.runs.spec import RunSpec, architecture


def plan_cohorts(specs: Sequence[RunSpec], *, streamed: bool = False) -> list[list[int]]:
    """Positions of the specs, grouped so that all of a group can be rows of one tensor program.

    Rows need the same shapes (networks, batch size, number of examples) and the same update rule; method,
    hyper-parameters, learning rate, noise, seed and number of epochs may differ from row to row. Where
    pictures are streamed from files, one decoded batch serves all rows, so all must visit the same examples
    in the same order.
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
            _shared_order(spec) if streamed else None,
        )
        groups.setdefault(key, []).append(position)
    return list(groups.values())


def _shared_order(spec: RunSpec) -> tuple[object, ...]:
    """What an epoch's order follows from: the seed and, unless it is only shuffled, the noisy labels."""
    return (spec.seed, None if spec.sampler == "shuffled" else spec.noise)


def cost(spec: RunSpec, done: int = 0) -> float:
    """Relative arithmetic of a run of which so many epochs are done: epochs times networks."""
    return (spec.epochs - done) * (2.0 if get_method(spec.method).needs_predictor else 1.0)


def plan_blocks(specs: Sequence[RunSpec], blocks: int, done: Sequence[int] | None = None) -> list[list[int]]:
    """Positions of the specs shared out over at most `blocks` blocks of about equal cost, none empty.

    `done`: epochs of each spec that need not be trained.
    """
    costs = [cost(spec, epochs) for spec, epochs in zip(specs, done or [0] * len(specs), strict=True)]
    shares: list[list[int]] = [[] for _ in range(min(blocks, len(specs)))]
    loads = [0.0] * len(shares)
    for position in sorted(range(len(specs)), key=lambda i: -costs[i]):
        lightest = loads.index(min(loads))
        shares[lightest].append(position)
        loads[lightest] += costs[position]
    return [sorted(share) for share in shares]


@dataclass(frozen=True)
class Listener:
    """Who hears of progress. Calls come from worker threads, one at a time."""

    on_epoch: Callable[[int, Record], None]
    """(position of the spec, the epoch's record)."""
    on_finished: Callable[[Finished], None]


def train_cohort(
    specs: Sequence[RunSpec],
    prepared: Sequence[PreparedRun],
    parents: Sequence[State | None],
    data: DataSet,
    *,
    device: torch.device,
    threads: int,
    threads_per_block: int,
    pace: Pace,
    listener: Listener,
    watched: MakeWatch | None = None,
    keeper: Keeper | None = None,
    asked: Callable[[], bool] = lambda: False,
) -> None:
    """Train all rows; everything that comes of it goes to the listener, with positions in `specs`.

    With one thread per block a row's result is the same, bit by bit, alone and in any cohort: its arithmetic
    has the same shapes and the same order of summation. More threads per block change the last digits.
    `parents` holds, for each spec, the classifier of the run it starts from, or None. `watched` makes who
    looks on in each block, which changes nothing else. `keeper` keeps the states of rows, and rows of which
    it has one go on from there; those whose epochs differ train in different blocks. `asked` at every step,
    and at every batch of an evaluation, whether to end now: then this ends with `Stopped`.
    """
    streamed = isinstance(data.examples.inputs, LazyInputs)  # then every block would decode for itself
    inputs = DeviceInputs.of(data, device)
    clean_validation = specs[0].validation_labels == "clean"
    stop = threading.Event()
    turn = threading.Lock()
    ended: set[int] = set()

    def shall_stop() -> bool:
        return stop.is_set() or asked()

    def block(share: Sequence[int], pace: Pace, resumed: Sequence[RowState] = ()) -> Block:
        return Block(
            [specs[i] for i in share],
            block_data(
                [prepared[i] for i in share],
                data,
                inputs,
                device,
                clean_validation=clean_validation,
                cohort=len(specs),
            ),
            device,
            data.examples.input_shape,
            data.examples.class_names,
            [parents[i] for i in share],
            [prepared[i].noise_entropy for i in share],
            pace,
            watched=watched,
            resumed=resumed,
        )

    def work(share: Sequence[int]) -> None:
        torch.set_num_threads(threads_per_block)  # the setting belongs to the thread it is made in
        try:
            if device.type == "cuda":
                heaviest_first = sorted(share, key=lambda i: not get_method(specs[i].method).needs_predictor)
                train_on_gpu(heaviest_first, pace, device, block, train_rows, can_rehearse=not streamed)
            else:
                persevere(share, pace, train_rows)
        except Stopped:
            return  # said below; where another block broke, that is what is to be said
        except BaseException:
            stop.set()  # one broken block ends the others, whose work would be thrown away
            raise

    def train_rows(share: Sequence[int], pace: Pace, begun: threading.Event) -> None:
        """All that is left of these rows; where they were tried before, some of it is done."""
        left = [row for row in share if row not in ended]
        epochs = keeper.epochs(left) if keeper is not None else [0] * len(left)
        for epoch in sorted(set(epochs), reverse=True):
            alike = [row for row, own in zip(left, epochs, strict=True) if own == epoch]
            if not shall_stop():
                train_block(alike, epoch, pace, begun)

    def train_block(share: Sequence[int], epoch: int, pace: Pace, begun: threading.Event) -> None:
        def on_epoch(row: int, record: Record) -> None:
            begun.set()
            with turn:
                listener.on_epoch(share[row], record)

        together = block(share, pace, keeper.states(share) if keeper is not None and epoch else ())
        keep = None if keeper is None else keeper.of_block(share)
        for finished in together.train(on_epoch, shall_stop, keep):
            begun.set()
            with turn:
                listener.on_finished(finished.at(share[finished.row]))
                ended.add(share[finished.row])

    blocks = 1 if streamed or device.type == "cuda" else max(1, threads // threads_per_block)
    begun = keeper.epochs(range(len(specs))) if keeper is not None else None
    shares = plan_blocks(specs, blocks, begun)
    with _restored_threads(), ThreadPoolExecutor(len(shares)) as pool:
        futures = [pool.submit(work, share) for share in shares]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            if keeper is not None:
                keeper.save()  # beside steps that cannot be broken off: there may be little time
            raise
    if len(ended) < len(specs):  # nothing else leaves rows
        raise Stopped


@contextmanager
def _restored_threads() -> Iterator[None]:
    """Give the caller's number of torch threads back afterwards."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)
