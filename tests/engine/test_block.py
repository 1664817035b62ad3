"""Rows of a cohort are the runs they would be alone, and what goes wrong in one stays in it."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
import torch

from noiselimit.data.examples import DataSet
from noiselimit.engine.block import Block
from noiselimit.information import least_information, uniform_noise_entropy
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import train as train_anywhere
from tests.engine.interrupting import assert_same_run
from tests.engine.streamed_pictures import streamed

train = partial(train_anywhere, device="cpu")  # bitwise equal there
METHODS = ["ce", "limit-l", "limit-g", "limit-l+s", "limit-g+s"]


def eight_specs() -> list[RunSpec]:
    """Eight rows with different methods, hyper-parameters, seeds, rates and schedules."""
    mixed = grid(method=METHODS, beta=[3], sigma=[0.1], noise="uniform:0.4", epochs=3, batch_size=17)
    decayed = grid(
        method="limit-l", beta=[0, 30], seed=1, weight_decay=0.01, schedule="cosine", epochs=3, batch_size=17
    )
    return mixed + decayed + grid(method="ce", seed=2, learning_rate=0.01, epochs=2, batch_size=17)


@pytest.fixture(scope="module")
def alone(tiny_images: DataSet) -> list[Run]:
    return [train(spec, tiny_images, threads=1)[0] for spec in eight_specs()]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rows", [range(2), range(8), [7, 3, 0, 5]], ids=str)
def test_a_run_is_bitwise_the_same_alone_and_in_any_cohort(
    tiny_images: DataSet, alone: list[Run], rows: Sequence[int], threads: int
) -> None:
    specs = eight_specs()
    together = train([specs[row] for row in rows], tiny_images, threads=threads)
    for row, run in zip(rows, together, strict=True):
        assert_same_run(alone[row], run)


def test_two_threads_per_block_change_only_the_last_digits(tiny_images: DataSet, alone: list[Run]) -> None:
    before = torch.get_num_threads()
    runs = train(eight_specs()[1:3], tiny_images, threads=2, threads_per_block=2)
    for reference, run in zip(alone[1:3], runs, strict=True):
        for expected, record in zip(reference.history, run.history, strict=True):
            assert record == pytest.approx(expected, abs=1e-4)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("last", [2, 3, 5])
def test_small_last_batches_are_bitwise_the_same_too(last: int) -> None:
    """Products of two or three rows depend on their address; seven features misalign them."""
    generator = np.random.default_rng(last)
    data = generator.normal(size=(64 + last + 20, 7)), np.arange(64 + last + 20) % 3
    specs = grid(
        method=["ce", "limit-l"], seed=[0, 1, 2], network=["mlp", "mlp-4x512"], noise="uniform:0.3",
        train_size=32 + last, batch_size=16, epochs=3,
    )  # fmt: skip
    for spec, run in zip(specs, train(specs, data, threads=1), strict=True):
        assert_same_run(train(spec, data, threads=1)[0], run)


def test_a_run_that_diverges_fails_alone(blobs: DataSet) -> None:
    settings = {"noise": "uniform:0.3", "epochs": 4, "batch_size": 16, "optimiser": "sgd"}
    good = grid(method=["ce", "limit-l"], learning_rate=0.01, **settings)
    bad = grid(method=["ce", "limit-l"], learning_rate=1e30, **settings)
    together = train([good[0], bad[0], good[1], bad[1]], blobs, threads=1)
    for run in (together[1], together[3]):
        assert run.failed
        assert "learning rate" in run.metrics["failure"]
    for run, spec in ((together[0], good[0]), (together[2], good[1])):
        assert not run.failed
        assert_same_run(run, train(spec, blobs, threads=1)[0])


def test_a_late_failure_keeps_the_best_model_but_no_last_metrics(blobs: DataSet) -> None:
    settings = {"noise": "uniform:0.4", "network": "mlp-4x512", "optimiser": "sgd", "batch_size": 97}
    rates = [0.5 * 2**i for i in range(14)]
    runs = train(grid(method="ce", learning_rate=rates, epochs=6, **settings), blobs)
    late = [run for run in runs if run.failed and run.metrics["best_epoch"] > 0]
    assert late
    for run in late:
        assert run.metrics["memorised_wrong_labels"] is None
        assert run.metrics["last_gap_auc"] is None
        assert run.model is not None
        assert_same_run(train(run.spec, blobs)[0], run)


def test_patience_ends_a_run_early_and_keeps_its_best_epoch(blobs: DataSet) -> None:
    patient, hasty = train([RunSpec("ce", epochs=30, batch_size=16, patience=p) for p in (30, 3)], blobs)
    assert len(patient.history) == 30
    assert hasty.history == patient.history[: len(hasty.history)]
    accuracies = [record["validation_accuracy"] for record in hasty.history]
    rose_at = 1 + max(i for i in range(len(accuracies)) if accuracies[i] > max([-1, *accuracies[:i]]))
    assert len(hasty.history) - rose_at == 3
    best = max(hasty.history, key=lambda r: (r["validation_accuracy"], -r["validation_loss"], -r["epoch"]))
    assert hasty.metrics["best_epoch"] == best["epoch"]
    assert hasty.metrics["test_accuracy"] == best["test_accuracy"]


def test_finished_rows_that_stay_and_are_scored_in_turns_change_nothing(
    blobs: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = [RunSpec("limit-l", epochs=30, batch_size=16, patience=p, seed=p) for p in (30, 3, 5)]
    specs += [RunSpec("ce", epochs=4, batch_size=16), RunSpec("ce", epochs=4, batch_size=16, seed=1)]
    specs.append(RunSpec("ce", epochs=4, batch_size=16, learning_rate=1e30))
    plain = train(specs, blobs, threads=1, averaged=True)
    monkeypatch.setattr(Block, "_removal_pays", lambda *_: False)
    monkeypatch.setattr("noiselimit.engine.block.SCORED_AT_ONCE", 1)
    for first, second in zip(plain, train(specs, blobs, threads=1, averaged=True), strict=True):
        assert_same_run(first, second)
    assert [run.failed for run in plain] == [False] * 5 + [True]


def test_accuracies_are_exact(blobs: DataSet) -> None:
    run = train(grid(method="limit-l", epochs=5, batch_size=16, noise="uniform:0.3"), blobs)[0]
    best = run.history[run.metrics["best_epoch"] - 1]
    for part in ("validation", "test"):
        outputs = run.outputs[run.outputs["part"] == part]
        share = (outputs["predicted_label"] == outputs["given_label"]).mean()
        assert best[f"{part}_accuracy"] == pytest.approx(share, abs=1e-12)


def test_an_error_in_a_block_reaches_the_caller(blobs: DataSet) -> None:
    def fail(progress: object) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        train(grid(seed=[0, 1], epochs=50), blobs, threads=2, progress=fail)


@pytest.mark.parametrize("of", [lambda data: data, streamed], ids=["in memory", "streamed"])
def test_with_dropout_hits_are_those_of_the_whole_network(
    tiny_images: DataSet, of: Callable[[DataSet], DataSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In evaluation mode, without augmentation, each example once."""
    monkeypatch.setattr("noiselimit.engine.block_data.EVALUATION_BATCH", 10)
    monkeypatch.setattr("noiselimit.engine.stream.MOST_WORKERS", 0)
    varied = {"augmentation": "flip", "sampler": "balanced", "dropout": 0.5, "noise": "uniform:0.5"}
    specs = grid(method=["ce", "limit-l"], seed=[0, 1], epochs=1, batch_size=16, **varied)
    specs += grid(method=["ce", "limit-g"], epochs=6, batch_size=16, **varied)
    for run in train(specs, of(tiny_images), threads=1):
        last = run.history[-1]
        assert last["wrong_fitted"] == run.metrics["memorised_wrong_labels"]
        implied = least_information(uniform_noise_entropy(0.5, 2), 1 - last["train_accuracy"], 2)
        assert last["memorised_bits"] == run.metrics["memorised_bits"] == pytest.approx(implied)
        if run.metrics["best_epoch"] == run.metrics["last_epoch"]:
            own = run.outputs[run.outputs["part"] == "train"]
            assert last["train_accuracy"] == (own["predicted_label"] == own["given_label"]).mean()
