"""Rows of a cohort are the runs they would be alone, and what goes wrong in one stays in it."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
import torch

from noiselimit.data.examples import DataSet
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import train as train_anywhere

train = partial(train_anywhere, device="cpu")  # where equality is bit by bit

METHODS = ["ce", "limit-l", "limit-g", "limit-l+s", "limit-g+s"]


def weights(run: Run) -> dict[str, torch.Tensor]:
    both = {"classifier": run.weights.classifier, "predictor": run.weights.predictor or {}}
    return {f"{network}.{name}": t for network, state in both.items() for name, t in state.items()}


def assert_same(first: Run, second: Run) -> None:
    assert first.history == second.history
    assert all(torch.equal(t, weights(second)[name]) for name, t in weights(first).items())
    assert first.outputs.equals(second.outputs)


def eight_specs() -> list[RunSpec]:
    """Eight rows of every kind: methods, hyper-parameters, seeds, rates and schedules all differ."""
    mixed = grid(method=METHODS, beta=[3], sigma=[0.1], noise="uniform:0.4", epochs=3, batch_size=17)
    decayed = grid(
        method="limit-l", beta=[0, 30], seed=1, weight_decay=0.01, schedule="cosine", epochs=3, batch_size=17
    )
    return mixed + decayed + grid(method="ce", seed=2, learning_rate=0.01, epochs=2, batch_size=17)


@pytest.fixture(scope="module")
def alone(tiny_images: DataSet) -> list[Run]:
    return [train(spec, tiny_images, threads=1)[0] for spec in eight_specs()]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rows", [range(1), range(2), range(3), range(8), [7, 3, 0, 5]], ids=str)
def test_a_run_is_bitwise_the_same_alone_and_in_any_cohort(
    tiny_images: DataSet, alone: list[Run], rows: Sequence[int], threads: int
) -> None:
    specs = eight_specs()
    together = train([specs[row] for row in rows], tiny_images, threads=threads)
    for row, run in zip(rows, together, strict=True):
        assert_same(alone[row], run)


def test_two_threads_per_block_change_only_the_last_digits(tiny_images: DataSet, alone: list[Run]) -> None:
    runs = train(eight_specs()[1:3], tiny_images, threads_per_block=2)
    for reference, run in zip(alone[1:3], runs, strict=True):
        for expected, record in zip(reference.history, run.history, strict=True):
            assert record == pytest.approx(expected, abs=1e-4)


def test_feature_vectors_train_bitwise_the_same_too(blobs: DataSet) -> None:
    specs = grid(method=METHODS, seed=[0, 1], noise="uniform:0.3", epochs=2, batch_size=10, optimiser="sgd")
    together = train(specs, blobs, threads=2)
    assert_same(train(specs[3], blobs, threads=1)[0], together[3])


@pytest.mark.parametrize("last", [2, 3, 5])
def test_small_last_batches_are_bitwise_the_same_too(last: int) -> None:
    """Products of two or three rows depend on where in memory they begin; seven features misalign them."""
    generator = np.random.default_rng(last)
    inputs, labels = generator.normal(size=(64 + last + 20, 7)), np.arange(64 + last + 20) % 3
    specs = grid(
        method=["ce", "limit-l"], seed=[0, 1, 2], network=["mlp", "mlp-4x512"], noise="uniform:0.3",
        train_size=32 + last, batch_size=16, epochs=3,
    )  # fmt: skip
    together = train(specs, (inputs, labels), threads=1)
    for spec, run in zip(specs, together, strict=True):
        assert_same(train(spec, (inputs, labels), threads=1)[0], run)


def test_a_late_failure_says_nothing_about_memorising(blobs: DataSet) -> None:
    settings = {"noise": "uniform:0.4", "network": "mlp-4x512", "optimiser": "sgd", "batch_size": 97}
    runs = train(
        grid(method="ce", learning_rate=[0.5 * 2**i for i in range(14)], epochs=6, **settings), blobs
    )
    late = [run for run in runs if run.failed and run.metrics["best_epoch"] > 0]
    assert late, "no rate failed after its first epoch: the test has lost its subject"
    for run in late:
        assert run.metrics["memorised_wrong_labels"] is None
        assert run.metrics["last_gap_auc"] is None
        assert run.model is not None


def test_a_run_that_diverges_is_marked_and_the_others_go_on(blobs: DataSet) -> None:
    settings = {"noise": "uniform:0.3", "epochs": 4, "batch_size": 16, "optimiser": "sgd"}
    good = grid(method=["ce", "limit-l"], learning_rate=0.01, **settings)
    bad = grid(method=["ce", "limit-l"], learning_rate=1e30, **settings)
    together = train([good[0], bad[0], good[1], bad[1]], blobs, threads=1)
    for run in (together[1], together[3]):
        assert run.failed
        assert "not a finite number at step" in run.metrics["failure"]
        assert "lower the learning rate" in run.metrics["failure"]
    for run, spec in ((together[0], good[0]), (together[2], good[1])):
        assert not run.failed
        assert len(run.history) == 4
        assert_same(run, train(spec, blobs, threads=1)[0])


def test_patience_ends_a_run_early_and_keeps_its_best_epoch(blobs: DataSet) -> None:
    patient, hasty = train(
        [RunSpec("ce", epochs=30, batch_size=16, patience=p) for p in (30, 3)], blobs, threads=1
    )
    assert len(patient.history) == 30
    assert len(hasty.history) < 30
    assert hasty.history == patient.history[: len(hasty.history)]
    accuracies = [record["validation_accuracy"] for record in hasty.history]
    rose_at = 1 + max(i for i in range(len(accuracies)) if accuracies[i] > max([-1, *accuracies[:i]]))
    assert len(hasty.history) - rose_at == 3
    best = max(hasty.history, key=lambda r: (r["validation_accuracy"], -r["validation_loss"], -r["epoch"]))
    assert hasty.metrics["best_epoch"] == best["epoch"]
    assert hasty.metrics["test_accuracy"] == best["test_accuracy"]


def test_rows_that_stay_until_removal_pays_change_nothing(
    blobs: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU a row that is done stays until a new recording is worth it; here all stay to the end."""
    specs = [RunSpec("limit-l", epochs=30, batch_size=16, patience=p, seed=p) for p in (30, 3, 5)]
    specs.append(RunSpec("ce", epochs=4, batch_size=16, optimiser="adam", learning_rate=1e30))
    leaving = train(specs, blobs, threads=1)
    monkeypatch.setattr("noiselimit.engine.block.Block._removal_pays", lambda *_: False)
    staying = train(specs, blobs, threads=1)
    for first, second in zip(leaving, staying, strict=True):
        assert first.metrics["failure"] == second.metrics["failure"]
        if not first.failed:
            assert_same(first, second)
    assert [run.failed for run in staying] == [False, False, False, True]


def test_history_counts_exactly(blobs: DataSet) -> None:
    """Recomputed from the stored outputs: exact accuracy on the parts, not a mean of batch means."""
    run = train(RunSpec("limit-l", epochs=5, batch_size=16, noise="uniform:0.3"), blobs)[0]  # type: ignore[arg-type]
    best = run.history[run.metrics["best_epoch"] - 1]
    for part in ("validation", "test"):
        outputs = run.outputs[run.outputs["part"] == part]
        share = (outputs["predicted_label"] == outputs["given_label"]).mean()
        assert best[f"{part}_accuracy"] == pytest.approx(share, abs=1e-12)


def test_the_callers_thread_setting_is_given_back(blobs: DataSet) -> None:
    before = torch.get_num_threads()
    train(RunSpec("ce", epochs=1), blobs, threads=2, threads_per_block=2)
    assert torch.get_num_threads() == before


def test_an_error_in_a_block_reaches_the_caller(blobs: DataSet) -> None:
    def complain(progress: object) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        train(grid(seed=[0, 1], epochs=50), blobs, threads=2, progress=complain)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_a_gpu_trains_what_the_cpu_trains(tiny_images: DataSet, alone: list[Run]) -> None:
    """Stacked layers on the other device: the first epoch agrees closely, before rounding has grown."""
    for reference, run in zip(alone, train(eight_specs(), tiny_images, device="cuda"), strict=True):
        assert len(run.history) == len(reference.history)
        for name in ("train_loss", "validation_loss"):
            assert run.history[0][name] == pytest.approx(reference.history[0][name], rel=0.02, abs=0.02)
