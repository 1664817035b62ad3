"""Training a cohort: on a GPU as one block, on a CPU as one block of rows per core."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from noiselimit.cohort.block import Block
from noiselimit.cohort.device import block_data, to_device
from noiselimit.cohort.outcome import Finished, Record
from noiselimit.cohort.plan import plan_blocks
from noiselimit.cohort.prepare import PreparedRun
from noiselimit.data.examples import DataSet
from noiselimit.spec import RunSpec


@dataclass(frozen=True)
class Listener:
    """Who hears of progress. Calls come from worker threads, one at a time."""

    on_epoch: Callable[[int, Record], None]
    """(position of the spec, the epoch's record)."""
    on_finished: Callable[[Finished], None]


def train_cohort(
    specs: Sequence[RunSpec],
    prepared: Sequence[PreparedRun],
    data: DataSet,
    *,
    device: torch.device,
    threads: int,
    threads_per_block: int,
    listener: Listener,
) -> None:
    """Train all rows; everything that comes of it goes to the listener, with positions in `specs`.

    With one thread per block a row's result is the same, bit by bit, alone and in any cohort: its arithmetic
    has the same shapes and the same order of summation. More threads per block change the last digits.
    """
    blocks = 1 if device.type == "cuda" else max(1, threads // threads_per_block)
    shares = plan_blocks(specs, blocks)
    inputs = to_device(data.examples, device)
    test_inputs = to_device(data.test, device) if data.test else None
    stop = threading.Event()
    turn = threading.Lock()

    def work(share: Sequence[int]) -> None:
        torch.set_num_threads(threads_per_block)  # the setting belongs to the thread it is made in
        try:
            block = Block(
                [specs[i] for i in share],
                block_data([prepared[i] for i in share], inputs, data.test, test_inputs),
                device,
                data.examples.input_shape,
                data.examples.classes,
            )
            for finished in block.train(lambda row, record: hear(share[row], record), stop.is_set):
                with turn:
                    listener.on_finished(finished.at(share[finished.row]))
        except BaseException:
            stop.set()  # one broken block ends the others, whose work would be thrown away
            raise

    def hear(position: int, record: Record) -> None:
        with turn:
            listener.on_epoch(position, record)

    with _restored_threads(), ThreadPoolExecutor(len(shares)) as pool:
        futures = [pool.submit(work, share) for share in shares]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            raise


@contextmanager
def _restored_threads() -> Iterator[None]:
    """Give the caller's number of torch threads back afterwards."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)
