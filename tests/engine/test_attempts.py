"""What fails before the first epoch is tried in a plainer way, with a sentence; later, only less at once."""

import threading
import weakref
from collections.abc import Sequence

import pytest
import torch

from noiselimit.engine.backend import Backend
from noiselimit.engine.retry import with_fallback
from noiselimit.errors import InputError, Notice

FAST, PLAIN = Backend(kernels=True, graphs=True), Backend(kernels=False, graphs=True)


class Training:
    """Fits `memory` rows, and knows kernels or does not."""

    def __init__(self, memory: int, *, kernels_work: bool = True, fails_late: bool = False) -> None:
        self.memory, self.kernels_work, self.fails_late = memory, kernels_work, fails_late
        self.done: list[tuple[list[int], Backend]] = []

    def __call__(self, rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        if self.fails_late:
            begun.set()
        if len(rows) > self.memory:
            raise torch.OutOfMemoryError("CUDA out of memory")
        if backend.kernels and not self.kernels_work:
            raise RuntimeError("ptxas failed\nwith many words")
        self.done.append((list(rows), backend))


def test_nothing_is_said_when_nothing_fails(recwarn: pytest.WarningsRecorder) -> None:
    training = Training(memory=5)
    with_fallback([4, 2, 0], FAST, training)
    assert training.done == [([4, 2, 0], FAST)]
    assert not recwarn


def test_a_cohort_that_is_too_large_is_halved_until_it_fits() -> None:
    training = Training(memory=2)
    with pytest.warns(Notice, match="did not fit into the device's memory at once") as said:
        with_fallback(range(7), FAST, training)
    assert sorted(row for rows, _ in training.done for row in rows) == list(range(7))
    assert all(len(rows) <= 2 and backend == FAST for rows, backend in training.done)
    assert len(said) == 3  # 7 → 4 and 3 → 2, 2, 2 and 1


def test_one_run_that_does_not_fit_gets_a_sentence() -> None:
    with pytest.raises(InputError, match="lower batch_size"):
        with_fallback([0], FAST, Training(memory=0))


CPU = (
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
    "allocate 37748736 bytes. Error code 12 (Cannot allocate memory)"
)
"""As torch 2.13 says it."""


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(CPU),
        RuntimeError("std::bad_alloc"),
        RuntimeError("could not create a primitive"),
        MemoryError("Unable to allocate 4.00 MiB for an array"),
    ],
)
@pytest.mark.parametrize("backend", [FAST, PLAIN])
def test_the_machines_own_memory_may_run_out_too(error: Exception, backend: Backend) -> None:
    done: list[Sequence[int]] = []

    def train(rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        if len(rows) > 1:
            raise error
        done.append(rows)

    with pytest.warns(Notice, match="did not fit into the machine's memory at once"):
        with_fallback([0, 1, 2], backend, train)
    assert sorted(row for rows in done for row in rows) == [0, 1, 2]

    def small(rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        raise error

    sentence = "a run does not fit into the machine's memory: lower batch_size, or use fewer threads."
    with pytest.raises(InputError) as refused:
        with_fallback([0], backend, small)
    assert str(refused.value) == sentence


def test_kernels_that_fail_are_left_out_and_the_reason_is_one_line() -> None:
    training = Training(memory=9, kernels_work=False)
    with pytest.warns(Notice, match=r"kernels failed \(RuntimeError: ptxas failed\), so") as said:
        with_fallback([0, 1], FAST, training)
    assert training.done == [([0, 1], PLAIN)]
    assert len(said) == 1


def test_memory_that_runs_out_later_halves_a_cohort_as_well() -> None:
    training = Training(memory=1, fails_late=True)
    with pytest.warns(Notice, match="ran out while 2 runs trained: they resume as two cohorts"):
        with_fallback([5, 7], FAST, training)
    assert training.done == [([5], FAST), ([7], FAST)]


def test_what_else_fails_after_an_epoch_is_an_error() -> None:
    training = Training(9, kernels_work=False, fails_late=True)
    with pytest.raises(RuntimeError):
        with_fallback([0, 1], FAST, training)
    assert not training.done


def test_without_kernels_an_error_is_an_error() -> None:
    def broken(rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        with_fallback([0], PLAIN, broken)


def test_bad_input_is_no_matter_of_kernels() -> None:
    calls = []

    def refusing(rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        calls.append(rows)
        raise InputError("the file is missing: name another.")

    with pytest.raises(InputError, match="name another"):
        with_fallback([0, 1], FAST, refusing)
    assert len(calls) == 1


def test_a_compiler_that_cannot_write_its_files_is_done_without() -> None:
    calls = []

    def unwritable(rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        calls.append(backend)
        if backend.kernels:
            raise FileNotFoundError("/nowhere/.triton/cache")

    with pytest.warns(Notice, match=r"kernels failed \(FileNotFoundError"):
        with_fallback([0, 1], FAST, unwritable)
    assert calls == [FAST, PLAIN]


def test_a_file_that_cannot_be_written_after_an_epoch_is_an_error() -> None:
    def full(rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        begun.set()
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        with_fallback([0, 1], FAST, full)


class _Held:
    """A block and its steps know each other, so that only the garbage collector frees them."""

    def __init__(self) -> None:
        self.itself = self


def test_what_a_failed_attempt_held_is_gone_when_the_next_begins() -> None:
    held: list[weakref.ref[_Held]] = []
    alive: list[int] = []

    def train(rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        alive.append(sum(each() is not None for each in held))
        block = _Held()
        held.append(weakref.ref(block))
        if len(rows) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.warns(Notice, match="did not fit"):
        with_fallback([0, 1], FAST, train)
    assert alive == [0, 0, 0]
