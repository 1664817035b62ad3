"""Averages of probabilities over the second half of the epochs."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.arrays import Rows
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine import block
from noiselimit.engine.block_data import Part
from noiselimit.engine.callbacks import Averages, is_averaged
from noiselimit.engine.results import Scores
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.tasks import CLASSIFICATION
from noiselimit.training import train
from tests.engine.interrupting import assert_same_run

STEADY = {"network": "linear", "learning_rate": 1e-7, "batch_size": 16, "noise": "uniform:0.3"}
"""Weights stay at their start, and the network is the same in training and evaluation."""


@pytest.mark.parametrize(("epochs", "first"), [(1, 1), (2, 2), (3, 2), (25, 13), (40, 21)])
def test_the_second_half_begins_in_the_middle(epochs: int, first: int) -> None:
    spec = RunSpec("ce", epochs=epochs)
    assert [is_averaged(spec, epoch) for epoch in (first - 1, first, epochs)] == [False, True, True]


@given(st.integers(0, 2**32))
def test_means_of_what_was_added_in_the_second_half(seed: int) -> None:
    """Two rows, the first with a predictor; positions may occur twice in a step."""
    specs = [RunSpec("limit-l", epochs=4), RunSpec("ce", epochs=2)]
    part = Part(torch.zeros(3), torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2, 3, dtype=torch.int64))
    averages = Averages(
        specs, Mock(train=part, validation=range(2), task=CLASSIFICATION), 1, 2, torch.device("cpu")
    )
    tables = averages.classifier, averages.predictor, averages.times, averages.active
    addresses = [table.data_ptr() for table in tables]
    generator = np.random.default_rng(seed)
    added: dict[tuple[str, int, int], list[torch.Tensor]] = {}
    for epoch in (1, 2, 3, 4):
        averages.on_epoch_start(epoch, specs)
        for add, size, offset in ((averages.on_train_batch, 3, 0), (averages.on_validation_batch, 2, 3)):
            places = generator.integers(0, size, (2, 3))
            logits = torch.from_numpy(generator.normal(size=(3, 3, 2))).float()
            add(torch.from_numpy(places), logits[:2], logits[2:])
            for row, network, own in ((0, "classifier", 0), (1, "classifier", 1), (0, "predictor", 2)):
                for k, place in enumerate(places[row]) if is_averaged(specs[row], epoch) else ():
                    added.setdefault((network, row, offset + place), []).append(logits[own, k].softmax(-1))
    assert [table.data_ptr() for table in tables] == addresses, "a CUDA graph would miss it"
    last = Scores(torch.full((3, 2), 0.25), torch.full((3, 2), 0.75))
    for kept, place, row in ((averages, 0, 0), (averages, 1, 1), (averages.select([1]), 0, 1)):
        means = kept.result(place, last if row == 0 else Scores(last.classifier, None))
        for network in ("classifier", "predictor"):
            train, validation = (getattr(means[part], network) for part in ("train", "validation"))
            assert (train is None) == (row == 1 and network == "predictor")
            for position, mean in enumerate(torch.cat([train, validation])) if train is not None else ():
                values = added.get((network, row, position))
                if values is not None:
                    torch.testing.assert_close(mean, torch.stack(values).mean(0))
                elif position < 3:
                    assert torch.equal(mean, getattr(last, network)[position])


def mixed_specs() -> list[RunSpec]:
    """Rows with and without predictor that end at different epochs."""
    settings = {"noise": "uniform:0.4", "batch_size": 17}
    long = grid(method=["ce", "limit-l", "limit-g+s"], beta=[3], sigma=[0.1], epochs=5, **settings)
    return long + grid(method=["limit-l", "ce"], beta=[10], seed=1, epochs=2, **settings)


def test_averages_are_bitwise_the_same_alone_and_in_a_cohort_and_change_nothing(tiny_images: DataSet) -> None:
    how = {"device": "cpu", "threads": 1}
    plain = train(mixed_specs(), tiny_images, **how)
    together = train(mixed_specs(), tiny_images, averaged=True, **how)
    for without, run in zip(plain, together, strict=True):
        (alone,) = train(run.spec, tiny_images, averaged=True, **how)
        assert_same_run(alone, run)
        assert (run.averaged.predictor is None) == (run.spec.method == "ce")
        assert without.averaged is None
        assert without.history == run.history
        assert without.outputs.equals(run.outputs)


@pytest.mark.parametrize("sampler", ["shuffled", "balanced"])
@pytest.mark.parametrize("labels", ["given", "clean"])
def test_averages_of_steady_networks_are_their_probabilities(
    blobs: DataSet, sampler: str, labels: str
) -> None:
    """So each example has its own, in data order; a separate part that selects the epoch has none."""
    inputs = np.asarray(blobs.examples.inputs)
    chosen = make_examples(inputs[:20] + 1, blobs.examples.labels[:20])
    data = DataSet("two", blobs.examples, validation=chosen)
    specs = grid(method=["limit-l", "ce"], epochs=3, sampler=sampler, validation_labels=labels, **STEADY)
    for run in train(specs, data, device="cpu", averaged=True):
        averaged, outputs = run.averaged, run.outputs
        assert averaged.index.tolist() == outputs["index"][outputs["part"] != "test"].tolist()
        np.testing.assert_allclose(averaged.classifier, run.predict_proba(inputs[averaged.index]), atol=1e-4)
        assert np.ptp(averaged.classifier[:, 0]) > 0.01, "all alike, so any order would do"
        assert (averaged.predictor is None) == (run.predictor is None)
        if run.predictor is not None:
            with torch.no_grad():
                predicted = run.predictor(run.data.standardised(inputs[averaged.index]))[0].softmax(-1)
            np.testing.assert_allclose(averaged.predictor, predicted.numpy(), atol=1e-4)


def test_runs_that_fail_or_stop_early_have_no_averages(blobs: DataSet) -> None:
    specs = grid(method="limit-l", epochs=4, learning_rate=[0.01, 1e30], optimiser="sgd", batch_size=16)
    good, bad = train(specs, blobs, device="cpu", threads=1, averaged=True)
    assert np.isfinite(good.averaged.classifier).all()
    assert bad.failed
    assert bad.averaged is None
    stopping = RunSpec("ce", epochs=1000, patience=1, learning_rate=1e-9, batch_size=16)
    assert train(stopping, blobs, device="cpu", averaged=True)[0].averaged is None


def test_vectors_in_a_file_train_the_same_networks_with_one_sum_for_both(
    tmp_path: Path, blobs: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block, "SCORED_OF_FILE", 20)
    np.save(tmp_path / "x.npy", blobs.examples.inputs)
    rows = Rows(tmp_path / "x.npy", blobs.examples.inputs.shape)
    in_file = replace(blobs, examples=replace(blobs.examples, inputs=rows))
    specs = grid(method=["ce", "limit-l"], epochs=3, batch_size=16)
    expected = train(specs, blobs, averaged=True, threads=1, device="cpu")
    found = train(specs, in_file, averaged=True, threads=1, device="cpu")
    for whole, run in zip(expected, found, strict=True):
        for name, tensor in whole.weights.classifier.items():
            torch.testing.assert_close(run.weights.classifier[name], tensor)
        networks = [own for own in (whole.averaged.classifier, whole.averaged.predictor) if own is not None]
        assert run.averaged.predictor is None
        np.testing.assert_allclose(run.averaged.classifier, np.mean(networks, axis=0), atol=1e-6)
        assert run.metrics["train_examples"] == whole.metrics["train_examples"]
        assert run.outputs["part"].value_counts().to_dict() == {"train": 20, "validation": 20, "test": 20}
        same = whole.outputs.set_index("index").loc[run.outputs["index"], "gap"]
        np.testing.assert_allclose(run.outputs["gap"], same, atol=1e-6)
