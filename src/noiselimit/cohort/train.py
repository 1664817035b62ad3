"""Training a cohort: on a GPU as one block, on a CPU as one block of rows per core."""

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import torch

from noiselimit.cohort.block import Block
from noiselimit.cohort.block_data import DeviceInputs, block_data
from noiselimit.cohort.memory import rows_that_fit
from noiselimit.cohort.outcome import Finished, Record
from noiselimit.cohort.pace import Pace
from noiselimit.cohort.plan import plan_blocks
from noiselimit.cohort.prepare import PreparedRun
from noiselimit.cohort.rows import State
from noiselimit.data.examples import DataSet
from noiselimit.data.lazy import LazyInputs
from noiselimit.errors import InputError, Notice
from noiselimit.machine import available_cores
from noiselimit.methods import get_method
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
    parents: Sequence[State | None],
    data: DataSet,
    *,
    device: torch.device,
    threads: int,
    threads_per_block: int,
    pace: Pace,
    listener: Listener,
) -> None:
    """Train all rows; everything that comes of it goes to the listener, with positions in `specs`.

    With one thread per block a row's result is the same, bit by bit, alone and in any cohort: its arithmetic
    has the same shapes and the same order of summation. More threads per block change the last digits.
    `parents` holds, for each spec, the classifier of the run it starts from, or None.
    """
    streamed = isinstance(data.examples.inputs, LazyInputs)  # then every block would decode for itself
    inputs = DeviceInputs.of(data, device)
    clean_validation = specs[0].validation_labels == "clean"
    stop = threading.Event()
    turn = threading.Lock()

    def block(share: Sequence[int], pace: Pace) -> Block:
        return Block(
            [specs[i] for i in share],
            block_data([prepared[i] for i in share], data, inputs, device, clean_validation=clean_validation),
            device,
            data.examples.input_shape,
            data.examples.class_names,
            [parents[i] for i in share],
            [prepared[i].noise_entropy for i in share],
            pace,
        )

    def work(share: Sequence[int]) -> None:
        torch.set_num_threads(threads_per_block)  # the setting belongs to the thread it is made in
        try:
            if device.type == "cuda":
                on_gpu(share, pace)
            else:
                train_block(share, pace)
        except BaseException:
            stop.set()  # one broken block ends the others, whose work would be thrown away
            raise

    def train_block(share: Sequence[int], pace: Pace, begun: threading.Event | None = None) -> None:
        def on_epoch(row: int, record: Record) -> None:
            if begun is not None:
                begun.set()
            with turn:
                listener.on_epoch(share[row], record)

        for finished in block(share, pace).train(on_epoch, stop.is_set):
            with turn:
                listener.on_finished(finished.at(share[finished.row]))

    def on_gpu(share: Sequence[int], pace: Pace) -> None:
        """One block after the other, each as large as the memory allows, by the fastest way that works."""
        torch.cuda.synchronize(device)  # the inputs were sent on another stream
        stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # only such a one can be recorded
        quickest = torch.backends.cudnn.flags(enabled=True, benchmark=True)  # tries algorithms at first use
        with torch.cuda.device(device), torch.cuda.stream(stream), quickest:
            if pace.kernels and not streamed:
                compile_ahead(share)
            for piece in fitting_pieces(share, pace):
                attempt(piece, pace)

    def compile_ahead(share: Sequence[int]) -> None:
        """Have all kernels compiled at once, that a first step would compile one after the other."""
        with suppress(Exception):  # what does not compile is reported where it is tried in earnest
            rehearsed = block(heaviest_first(share)[:1], pace)
            rehearsed.compile_kernels(available_cores())

    def heaviest_first(share: Sequence[int]) -> list[int]:
        return sorted(share, key=lambda i: not get_method(specs[i].method).needs_predictor)

    def fitting_pieces(share: Sequence[int], pace: Pace) -> list[list[int]]:
        if streamed:  # to rehearse would mean to decode
            return [list(share)]
        ordered = heaviest_first(share)
        try:
            most = rows_that_fit(lambda rows: block(ordered[:rows], pace), len(share), device)
        except (torch.OutOfMemoryError, InputError):
            raise
        except Exception:  # what fails here is reported where it is tried in earnest
            most = len(share)
        if most >= len(share):
            return [list(share)]
        pieces = plan_blocks([specs[i] for i in share], -(-len(share) // most))
        warnings.warn(
            f"{len(share)} runs do not fit into the device's memory at once, so they train in "
            f"{len(pieces)} cohorts of up to {max(map(len, pieces))}.",
            Notice,
            stacklevel=2,
        )
        return [[share[i] for i in piece] for piece in pieces]

    def attempt(share: Sequence[int], pace: Pace) -> None:
        """Train these rows; before their first epoch is done, what fails is tried again in a plainer way."""
        begun = threading.Event()
        try:
            train_block(share, pace, begun)
            return
        except torch.OutOfMemoryError:
            if begun.is_set() or len(share) == 1:
                raise
            again = [(share[::2], pace), (share[1::2], pace)]
            done = (
                f"{len(share)} runs did not fit into the device's memory at once: they train as two cohorts."
            )
        except InputError:
            raise
        except Exception as error:
            if begun.is_set() or not pace.kernels:
                raise
            again = [(share, replace(pace, kernels=False))]
            first_line = str(error).strip().split("\n")[0]
            done = (
                f"our own kernels failed here ({type(error).__name__}: {first_line}), so torch's are used: "
                "slower, same results; --kernels off hides this line."
            )
        torch.cuda.empty_cache()  # the error is gone by now, and the tensors that its traceback held
        warnings.warn(done, Notice, stacklevel=2)
        for rows, way in again:
            attempt(rows, way)

    blocks = 1 if streamed or device.type == "cuda" else max(1, threads // threads_per_block)
    shares = plan_blocks(specs, blocks)
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
