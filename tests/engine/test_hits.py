"""Of trainings with dropout the history says what the whole network hits; of others nothing is asked anew."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamed_pictures import StreamedPictures

from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine import block
from noiselimit.engine.evaluation import recount_hits
from noiselimit.engine.metrics import EpochTotals
from noiselimit.errors import Notice
from noiselimit.information import least_information, uniform_noise_entropy
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import Progress, Stopped, train

NOISY = {"noise": "uniform:0.5", "batch_size": 16}
COUNTED = {"train_accuracy", "memorised_bits", "wrong_fitted"}


def streamed(data: DataSet) -> DataSet:
    return DataSet(
        "streamed", make_examples(StreamedPictures(np.asarray(data.examples.inputs)), data.examples.labels)
    )


def trained(specs: RunSpec | list[RunSpec], data: DataSet, **how: Any) -> list[Run]:
    return train(specs, data, device="cpu", threads=1, **how)


@pytest.mark.parametrize("of", [lambda data: data, streamed], ids=["in memory", "streamed"])
def test_the_last_weights_whole_hit_what_the_history_says(
    tiny_images: DataSet, of: Callable[[DataSet], DataSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several pieces; pictures as they are, each once, whatever training made of them."""
    monkeypatch.setattr("noiselimit.engine.block_data.EVALUATION_BATCH", 10)
    monkeypatch.setattr("noiselimit.engine.stream.MOST_WORKERS", 0)  # to start some takes seconds
    varied = {"augmentation": "flip", "sampler": "balanced", "dropout": 0.5, **NOISY}
    specs = grid(method=["ce", "limit-l"], seed=[0, 1], epochs=1, **varied)
    for run in trained(specs + grid(method=["ce", "limit-g"], epochs=6, **varied), of(tiny_images)):
        last = run.history[-1]
        assert last["wrong_fitted"] == run.metrics["memorised_wrong_labels"]
        implied = least_information(uniform_noise_entropy(0.5, 2), 1 - last["train_accuracy"], 2)
        assert last["memorised_bits"] == run.metrics["memorised_bits"] == pytest.approx(implied)
        if run.metrics["best_epoch"] == run.metrics["last_epoch"]:  # whose outputs are kept: all of one epoch
            own = run.outputs[run.outputs["part"] == "train"]
            assert last["train_accuracy"] == (own["predicted_label"] == own["given_label"]).mean()


def as_while_training(totals: EpochTotals, *_: object) -> EpochTotals:
    return totals


def test_asking_changes_nothing_in_training(tiny_images: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = grid(method=["ce", "limit-l+s"], epochs=4, dropout=0.5, augmentation="flip-crop", **NOISY)
    asked = trained(specs, tiny_images)
    monkeypatch.setattr(block, "recount_hits", as_while_training)
    for one, other in zip(asked, trained(specs, tiny_images), strict=True):
        for here, there in zip(one.history, other.history, strict=True):
            assert {name for name in here if here[name] != there[name]} <= COUNTED
        assert list(one.history) != list(other.history)
        assert one.outputs.equals(other.outputs)
        for name, tensor in one.weights.classifier.items():
            assert torch.equal(tensor, other.weights.classifier[name])


def test_without_dropout_nobody_is_asked(blobs: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counting(totals: EpochTotals, *others: Any) -> EpochTotals:
        asked.append(len(totals.correct))
        return recount_hits(totals, *others)

    monkeypatch.setattr(block, "recount_hits", counting)
    trained(grid(method=["ce", "limit-l"], epochs=2, **NOISY), blobs)
    assert not asked
    trained(grid(method=["ce", "limit-l"], epochs=2, dropout=0.2, **NOISY), blobs)
    assert asked == [2, 2]


def test_runs_with_and_without_are_those_that_each_is_alone(blobs: DataSet) -> None:
    specs = grid(method=["ce", "limit-g"], dropout=[0, 0.3], epochs=[2, 4], **NOISY)
    for spec, run in zip(specs, trained(specs, blobs), strict=True):
        (alone,) = trained(spec, blobs)
        assert list(run.history) == list(alone.history)


def test_stopped_while_it_asks_it_goes_on_from_the_epoch_before(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    told: list[Progress] = []

    def counting(*everything: Any) -> EpochTotals:
        asked.append(1)
        return recount_hits(*everything)

    specs = grid(method=["ce", "limit-l"], epochs=5, dropout=0.3, **NOISY)
    undisturbed = trained(specs, blobs)
    stopping = {"progress": told.append, "stop": lambda: len(asked) >= 3}
    monkeypatch.setattr(block, "recount_hits", counting)
    with pytest.raises(Stopped):
        trained(specs, blobs, out=tmp_path, checkpoints=0, **stopping)
    assert max(news.record["epoch"] for news in told if news.record) == 2
    with pytest.warns(Notice, match="2 of 2 runs from epoch 2"):
        runs = trained(specs, blobs, out=tmp_path)
    assert [list(run.history) for run in runs] == [list(run.history) for run in undisturbed]
