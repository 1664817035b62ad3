"""What rows see: their own examples, in their own order and views, from memory or from files alike."""

import dataclasses

import numpy as np
import pytest
import torch
from streamed_pictures import StreamedPictures

from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.block_data import block_data, device_inputs
from noiselimit.engine.preparation import prepare_all
from noiselimit.errors import InputError
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import train

CPU = torch.device("cpu")


def test_every_row_sees_its_own_examples_standardised(tiny_images: DataSet) -> None:
    runs = prepare_all(grid(seed=[0, 1], noise="uniform:0.5"), tiny_images)
    data = block_data(runs, tiny_images, device_inputs(tiny_images, CPU), CPU)
    batch = next(data.batches(data.train))
    inputs, labels = batch.inputs, batch.labels
    assert inputs.shape == (2, len(runs[0].split.train), 1, 8, 8)
    for row, run in enumerate(runs):
        raw = tiny_images.examples.inputs[run.split.train].astype("float32")
        torch.testing.assert_close(inputs[row], torch.from_numpy((raw - run.mean) / run.std))
        assert labels[row].tolist() == run.examples.labels[run.split.train].tolist()
        assert abs(float(inputs[row].mean())) < 1e-5


def test_keeping_rows_keeps_their_data(tiny_images: DataSet) -> None:
    runs = prepare_all(grid(seed=[0, 1, 2], noise="uniform:0.5"), tiny_images)
    data = block_data(runs, tiny_images, device_inputs(tiny_images, CPU), CPU)
    kept = data.of_rows([2, 0])
    for part in ("train", "validation", "test"):
        whole, less = getattr(data, part), getattr(kept, part)
        assert torch.equal(less.index, whole.index[[2, 0]])
        assert torch.equal(less.labels, whole.labels[[2, 0]])
    assert torch.equal(kept.mean, data.mean[[2, 0]])


def test_weights_stand_beside_the_examples_and_are_one_on_average(tiny_images: DataSet) -> None:
    weights = np.arange(61, dtype=np.float32)
    weighted = DataSet("w", dataclasses.replace(tiny_images.examples, weights=weights))
    runs = prepare_all(grid(seed=[0, 1]), weighted)
    data = block_data(runs, weighted, device_inputs(weighted, CPU), CPU)
    batch = next(data.batches(data.train))
    assert batch.weights is not None
    torch.testing.assert_close(batch.weights.mean(1), torch.ones(2))
    own = weights[runs[1].split.train]
    np.testing.assert_allclose(batch.weights[1], own / own.mean(), rtol=1e-6)
    assert next(data.batches(data.validation)).weights is None


def test_an_example_of_weight_zero_teaches_nothing(blobs: DataSet) -> None:
    """Half of the examples are mislabelled: with weight 0 they do no harm, with weight 1 they do."""
    ignored = np.arange(151) % 2 == 1
    labels = np.where(ignored, (blobs.examples.labels + 1) % 3, blobs.examples.labels)
    inputs = blobs.examples.inputs
    spec = RunSpec("ce", network="linear", learning_rate=0.03, epochs=20, batch_size=16)
    right = {}
    for name, weights in (("ignored", ~ignored), ("believed", np.ones(151))):
        (run,) = train(spec, make_examples(inputs, labels, weights=weights.astype(float)))
        right[name] = (run.predict_proba(inputs).argmax(1) == blobs.examples.labels).mean()
    assert right["ignored"] > 0.9 > 0.8 > right["believed"]


@pytest.mark.parametrize("augmentation", ["none", "flip-crop"])
def test_streamed_pictures_train_the_run_that_pictures_in_memory_train(
    tiny_images: DataSet, augmentation: str
) -> None:
    lazy = StreamedPictures(np.asarray(tiny_images.examples.inputs))
    streamed = DataSet("s", dataclasses.replace(tiny_images.examples, inputs=lazy))
    settings = {"augmentation": augmentation, "sampler": "balanced", "epochs": 2, "batch_size": 16}
    noises = ["none", "uniform:0.5"]
    specs = grid(method=["ce", "limit-l"], seed=[0, 1], noise=noises, **settings)
    runs = [train(specs, data, threads=1, averaged=True) for data in (tiny_images, streamed)]
    for here, there in zip(*runs, strict=True):
        for own, other in zip(here.history, there.history, strict=True):
            assert other.keys() == own.keys()
            for name, value in own.items():
                assert other[name] == (value if value is None else pytest.approx(value, rel=1e-4)), name
        np.testing.assert_allclose(here.outputs["gap"], there.outputs["gap"], atol=1e-3)
        assert here.averaged is not None
        assert there.averaged is not None
        np.testing.assert_allclose(here.averaged.classifier, there.averaged.classifier, atol=1e-3)


def test_clean_labels_choose_the_epoch_only_where_asked(blobs: DataSet) -> None:
    specs = grid(noise="uniform:0.4", validation_labels=["given", "clean"])
    run = prepare_all(specs[:1], blobs)[0]
    inputs, rows = device_inputs(blobs, CPU), run.split.validation
    given, clean = (block_data([run], blobs, inputs, CPU, clean_validation=asked) for asked in (False, True))
    assert given.selection.labels[0].tolist() == run.examples.labels[rows].tolist()
    assert clean.selection.labels[0].tolist() == blobs.examples.labels[rows].tolist()
    assert torch.equal(clean.validation.labels, given.validation.labels)
    own = DataSet("v", blobs.examples, validation=blobs.examples)
    official = block_data([run], own, device_inputs(own, CPU), CPU, clean_validation=True)
    assert len(official.selection) == len(blobs.examples)
    here, there = train([dataclasses.replace(spec, epochs=9, batch_size=16) for spec in specs], blobs)
    assert here.metrics["validation_accuracy"] < 0.8 < there.metrics["validation_accuracy"]
    with pytest.raises(InputError, match="clean labels are not known for these data"):
        train(RunSpec(validation_labels="clean", epochs=1), blobs)


def test_where_an_official_part_validates_nothing_is_held_out(blobs: DataSet) -> None:
    own = DataSet("v", blobs.examples, validation=blobs.examples)
    held, free = train(grid(validation_labels=["given", "clean"], epochs=1), own)
    assert held.metrics["train_examples"] == 97
    assert free.metrics["train_examples"] == 121
    assert free.metrics["validation_examples"] == 151
    assert set(free.outputs["part"]) == {"train", "test"}
