"""One training, timed: seconds of every epoch, peak memory, and how many examples it had."""

import gc
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from statistics import median

import torch

from noiselimit.bench.clock import EpochClock, epoch_seconds, parts_of
from noiselimit.bench.notices import heard_notices
from noiselimit.bench.work import USUAL_WAY, Way, Work
from noiselimit.binding import bind
from noiselimit.cohort.prepare import prepare
from noiselimit.data.examples import DataSet
from noiselimit.training import Progress, train


@dataclass(frozen=True)
class Timed:
    """What one training of K runs took."""

    work: Work
    runs: int
    """K."""
    train_examples: int
    validation_examples: int
    test_examples: int
    all_seconds: tuple[float, ...]
    """Of every epoch of the whole cohort, those for warming up too."""
    warm_up: int
    parts: int
    """In how many pieces the cohort trained one after another; 1 unless it did not fit into memory."""
    peak_memory: int | None
    """Bytes allocated on the device at most; None on a CPU."""
    peak_reserved: int | None
    """Bytes that the allocator held for that, private pools of graphs included."""
    whole_seconds: float
    """From the call of `train` to its return."""
    notices: tuple[str, ...] = ()
    """What gave way: kernels, recordings, or a cohort too large for the memory."""

    @property
    def counted_seconds(self) -> tuple[float, ...]:
        """The epochs after warming up."""
        return self.all_seconds[self.warm_up :]

    @property
    def median_seconds(self) -> float:
        """Of an epoch of the whole cohort."""
        return median(self.counted_seconds)

    @property
    def seconds(self) -> float:
        """Per run and epoch: the median epoch over K."""
        return self.median_seconds / self.runs


def time_training(
    work: Work,
    data: DataSet,
    runs: int,
    *,
    device: torch.device,
    threads: int,
    epochs: int,
    warm_up: int,
    threads_per_block: int = 1,
    train_size: int | None = None,
    first_run: int = 0,
    to_the_end: bool = True,
    way: Way = USUAL_WAY,
    tell: Callable[[float], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Timed:
    """Train `runs` runs for `warm_up` + `epochs` epochs as anybody would, and look at the clock.

    Where epochs alone count, training need not go `to_the_end`: scoring every example for the run folders.
    """
    specs = work.specs(runs, warm_up + epochs, train_size, first_run, way.precision)
    forget_memory(device)
    epoch_clock = EpochClock(clock, tell)

    def progress(news: Progress) -> None:
        epoch_clock(news)
        if not to_the_end and epoch_clock.reports == runs * (warm_up + epochs):
            raise _SeenError

    with heard_notices() as notices, suppress(_SeenError):
        trained = train(
            specs,
            data,
            device=device,
            threads=threads,
            threads_per_block=threads_per_block,
            kernels=way.kernels,
            graphs=way.graphs,
            progress=progress,
        )
        failed = next((run for run in trained if run.failed), None)
        if failed is not None:
            raise RuntimeError(f"a run failed: {failed.metrics['failure']}")
    whole = clock() - epoch_clock.started
    on_gpu = device.type == "cuda"
    split = prepare(bind(specs[0], data), data).split
    return Timed(
        work=work,
        runs=runs,
        train_examples=len(split.train),
        validation_examples=len(split.validation),
        test_examples=len(split.test) if data.test is None else len(data.test),
        all_seconds=tuple(epoch_seconds(epoch_clock.started, epoch_clock.ends)),
        warm_up=warm_up,
        parts=len(parts_of(epoch_clock.ends)),
        peak_memory=torch.cuda.max_memory_allocated(device) if on_gpu else None,
        peak_reserved=torch.cuda.max_memory_reserved(device) if on_gpu else None,
        whole_seconds=whole,
        notices=tuple(notices),
    )


class _SeenError(Exception):
    """All that counts has been seen: no mistake, but the way out of a training."""


def forget_memory(device: torch.device) -> None:
    """What a training before this one left behind does not count for its peak."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
