"""Each row sees its own examples, in memory and streamed alike."""

import dataclasses

import numpy as np
import pytest
import torch

from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.backend import Backend
from noiselimit.engine.block_data import block_data, device_inputs
from noiselimit.engine.preparation import prepare_all
from noiselimit.engine.results import Row
from noiselimit.errors import InputError
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import train
from tests.engine.streamed_pictures import streamed

CPU = torch.device("cpu")


def test_every_row_sees_its_own_examples_standardised_and_weighted(tiny_images: DataSet) -> None:
    weights = np.arange(61, dtype=np.float32)
    weighted = DataSet("w", dataclasses.replace(tiny_images.examples, weights=weights))
    specs = grid(seed=[0, 1, 2], noise="uniform:0.5", precision="float32")
    runs = prepare_all(specs, weighted)
    rows = [Row(i, spec, run) for i, (spec, run) in enumerate(zip(specs, runs, strict=True))]
    data = block_data(rows, weighted, device_inputs(weighted, CPU), Backend()).of_rows([2, 0])
    batch = next(data.batches(data.train))
    assert batch.weights is not None
    for row, run in enumerate([runs[2], runs[0]]):
        raw = tiny_images.examples.inputs[run.split.train].astype("float32")
        torch.testing.assert_close(batch.inputs[row], torch.from_numpy((raw - run.mean) / run.std))
        assert batch.labels[row].tolist() == run.examples.labels[run.split.train].tolist()
        own = weights[run.split.train]
        np.testing.assert_allclose(batch.weights[row], own / own.mean(), rtol=1e-6)
    assert next(data.batches(data.validation)).weights is None


def test_examples_of_weight_zero_do_not_matter(blobs: DataSet) -> None:
    """Half of the labels are wrong: harmless with weight 0, harmful with weight 1."""
    ignored = np.arange(151) % 2 == 1
    labels = np.where(ignored, (blobs.examples.labels + 1) % 3, blobs.examples.labels)
    spec = RunSpec("ce", network="linear", learning_rate=0.03, epochs=20, batch_size=16)
    accuracy = []
    for weights in (~ignored, np.ones(151)):
        (run,) = train(spec, make_examples(blobs.examples.inputs, labels, weights=weights.astype(float)))
        accuracy.append((run.predict_proba(blobs.examples.inputs).argmax(1) == blobs.examples.labels).mean())
    assert accuracy[0] > 0.9 > 0.8 > accuracy[1]


@pytest.mark.parametrize("augmentation", ["none", "flip-crop"])
def test_streamed_pictures_train_like_pictures_in_memory(
    tiny_images: DataSet, augmentation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noiselimit.engine.stream.MOST_WORKERS", 0)  # test_stream.py has workers
    settings = {"augmentation": augmentation, "sampler": "balanced", "epochs": 2, "batch_size": 16}
    specs = grid(method=["ce", "limit-l"], seed=[0, 1], noise=["none", "uniform:0.5"], **settings)
    runs = [train(specs, data, threads=1, averaged=True) for data in (tiny_images, streamed(tiny_images))]
    for here, there in zip(*runs, strict=True):
        for own, other in zip(here.history, there.history, strict=True):
            assert other == {k: v if v is None else pytest.approx(v, rel=1e-4) for k, v in own.items()}
        np.testing.assert_allclose(here.outputs["gap"], there.outputs["gap"], atol=1e-3)
        np.testing.assert_allclose(here.averaged.classifier, there.averaged.classifier, atol=1e-3)


def test_clean_labels_select_the_epoch_on_request(blobs: DataSet) -> None:
    specs = grid(noise="uniform:0.4", validation_labels=["given", "clean"], epochs=9, batch_size=16)
    given, clean = train(specs, blobs)
    assert given.metrics["validation_accuracy"] < 0.8 < clean.metrics["validation_accuracy"]
    with pytest.raises(InputError, match="validation_labels"):
        train(RunSpec(validation_labels="clean", epochs=1), blobs)


def test_with_an_official_validation_part_nothing_is_held_out(blobs: DataSet) -> None:
    own = DataSet("v", blobs.examples, validation=blobs.examples)
    held, free = train(grid(validation_labels=["given", "clean"], epochs=1), own)
    assert held.metrics["train_examples"] == 97
    assert free.metrics["train_examples"] == 121
    assert free.metrics["validation_examples"] == 151
    assert set(free.outputs["part"]) == {"train", "test"}
