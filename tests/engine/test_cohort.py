"""Which runs share a cohort; too little memory splits it, and failing kernels fall back to torch's."""

import threading
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import Backend
from noiselimit.engine.block import Block
from noiselimit.engine.cohort import cost, plan_blocks, plan_cohorts, with_fallback
from noiselimit.errors import InputError, Notice
from noiselimit.runs.spec import grid
from noiselimit.training import Progress, train
from tests.engine.interrupting import assert_same_run

FAST, PLAIN = Backend(kernels=True, graphs=True), Backend(kernels=False, graphs=True)
OUT_OF_MEMORY = torch.OutOfMemoryError("CUDA out of memory")


class Training:
    """Fails with too many rows, with kernels, or always; records what it trained."""

    def __init__(
        self,
        memory: int = 9,
        kernels: Exception | None = None,
        error: Exception = OUT_OF_MEMORY,
        late: bool = False,
    ) -> None:
        self.memory, self.kernels, self.error, self.late = memory, kernels, error, late
        self.done: list[tuple[list[int], Backend]] = []

    def __call__(self, rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        if self.late:
            begun.set()
        if len(rows) > self.memory:
            raise self.error
        if backend.kernels and self.kernels is not None:
            raise self.kernels
        self.done.append((list(rows), backend))


@pytest.mark.parametrize(
    "error",
    [
        OUT_OF_MEMORY,
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("could not create a primitive"),
        MemoryError("Unable to allocate 4.00 MiB for an array"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_rows_are_halved_until_they_fit(error: Exception, late: bool) -> None:
    training = Training(memory=2, error=error, late=late)
    with pytest.warns(Notice, match="smaller cohorts") as notices:
        with_fallback(range(7), FAST, training)
    assert sorted(row for rows, _ in training.done for row in rows) == list(range(7))
    assert all(len(rows) <= 2 and backend == FAST for rows, backend in training.done)
    assert len(notices) == 2  # 7 → 4 → 2, and later pieces are no larger
    with pytest.raises(InputError, match="batch_size"):
        with_fallback([0], PLAIN, Training(memory=0, error=error))


@pytest.mark.parametrize("error", [RuntimeError("ptxas failed\nat length"), FileNotFoundError("/.triton")])
def test_failing_kernels_fall_back(error: Exception) -> None:
    training = Training(kernels=error)
    with pytest.warns(Notice, match=f"{type(error).__name__}: [^\n]*$") as notices:
        with_fallback([0, 1], FAST, training)
    assert training.done == [([0, 1], PLAIN)]
    assert len(notices) == 1
    with pytest.raises(type(error)):  # kernels that worked for an epoch are not the cause
        with_fallback([0, 1], FAST, Training(kernels=error, late=True))


@pytest.mark.parametrize("error", [RuntimeError("no"), InputError("the file is missing"), OSError("full")])
def test_other_errors_are_raised_at_once(error: Exception) -> None:
    with pytest.raises(type(error)):
        with_fallback([0, 1], PLAIN, Training(memory=0, error=error))


def test_a_failed_attempt_is_freed_before_the_next() -> None:
    class Cyclic:
        def __init__(self) -> None:
            self.itself = self

    held: list[weakref.ref[Cyclic]] = []

    def run(rows: Sequence[int], backend: Backend, begun: threading.Event) -> None:
        assert not any(reference() for reference in held)
        block = Cyclic()
        held.append(weakref.ref(block))
        if len(rows) > 1:
            raise torch.OutOfMemoryError

    with pytest.warns(Notice, match="do not fit"):
        with_fallback([0, 1], FAST, run)
    assert len(held) == 3


@pytest.mark.parametrize("saved", [True, False])
def test_a_training_that_runs_out_of_memory_ends_the_same(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: bool
) -> None:
    """In the third epoch there is memory for one row. Finished rows do not train again."""
    shared = {"batch_size": 16, "network": "linear", "noise": "uniform:0.3"}
    specs = grid(method=["ce", "limit-l"], beta=[1, 3], epochs=5, **shared)
    specs += grid(method="ce", seed=1, epochs=2, **shared)
    how = {"device": "cpu", "threads": 1, "averaged": True}
    undisturbed = train(specs, blobs, **how)
    real = Block._evaluate_epoch

    def evaluate_epoch(self: Block, epoch: int, on_epoch: object) -> object:
        if epoch == 3 and len(self.specs) > 1:
            raise OUT_OF_MEMORY
        return real(self, epoch, on_epoch)

    monkeypatch.setattr(Block, "_evaluate_epoch", evaluate_epoch)
    first_epochs: list[str] = []

    def progress(news: Progress) -> None:
        if news.record is not None and news.record["epoch"] == 1:
            first_epochs.append(news.spec.hash)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        out = tmp_path if saved else None
        runs = train(specs, blobs, out=out, checkpoints=0, progress=progress, **how)
    for one, other in zip(undisturbed, runs, strict=True):
        assert_same_run(one, other)
    times = {first_epochs.count(run.spec.hash) for run in runs[:-1]}
    assert times == {1} if saved else min(times) > 1
    assert first_epochs.count(runs[-1].spec.hash) == 1


def test_method_hyper_parameters_seed_and_rate_share_a_cohort() -> None:
    methods = ["ce", "limit-l", "limit-g+s", "fw"]
    specs = grid(method=methods, beta=[1, 10], seed=[0, 1], learning_rate=[1e-3, 1e-2], network="mlp")
    assert plan_cohorts(specs) == [list(range(len(specs)))]


def test_streamed_pictures_separate_different_orders() -> None:
    assert plan_cohorts(grid(beta=[1, 10], seed=[0, 1], network="mlp"), streamed=True) == [[0, 2], [1, 3]]
    noises = {"noise": ["none", "uniform:0.5"], "network": "mlp"}
    assert plan_cohorts(grid(sampler="shuffled", **noises), streamed=True) == [[0, 1]]
    assert plan_cohorts(grid(sampler="balanced", **noises), streamed=True) == [[0], [1]]


def test_shapes_and_update_rules_separate_cohorts() -> None:
    for name, values in {
        "batch_size": [8, 16],
        "network": ["mlp", "mlp-4x512"],
        "optimiser": ["adam", "sgd"],
        "train_size": [10, 20],
        "augmentation": ["none", "flip"],
        "sampler": ["shuffled", "balanced"],
        "dropout": [0, 0.5],
        "predictor_network": ["mlp", "linear"],
        "predictor_features": ["a.b:c", "a.b:d"],
        "method": ["limit-l", "soft-penalty"],
    }.items():
        assert plan_cohorts(grid(**{"network": "mlp", name: values})) == [[0], [1]]


@given(betas=st.integers(1, 9), baselines=st.integers(0, 9), blocks=st.integers(1, 5))
def test_blocks_hold_all_rows_and_cost_about_the_same(betas: int, baselines: int, blocks: int) -> None:
    specs = grid(method="limit-l", beta=list(range(betas))) + grid(method="ce", seed=list(range(baselines)))
    shares = plan_blocks(specs, blocks)
    assert sorted(i for share in shares for i in share) == list(range(len(specs)))
    assert len(shares) == min(blocks, len(specs))
    loads = [sum(cost(specs[i]) for i in share) for share in shares]
    assert max(loads) - min(loads) <= max(map(cost, specs))
