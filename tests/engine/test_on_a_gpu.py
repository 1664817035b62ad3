"""What needs a GPU: cohorts that do not fit into memory, CUDA graphs and kernels."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.block import Block
from noiselimit.errors import Notice
from noiselimit.runs.run import Run
from noiselimit.runs.spec import grid
from noiselimit.training import train
from tests.engine.test_block import eight_specs
from tests.engine.test_callbacks import mixed_specs

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")


@pytest.fixture(scope="module")
def pictures() -> DataSet:
    """1,000 pictures of MNIST's shape, each class with another bright band."""
    generator = np.random.default_rng(5)
    labels = np.arange(1_000) % 4
    values = generator.integers(0, 60, size=(1_000, 1, 28, 28))
    for number in range(4):
        values[labels == number, :, 7 * number : 7 * number + 7] += 80
    return DataSet("bars", make_examples(values.astype(np.uint8), labels))


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Leave 3 GiB of the device's memory."""
    torch.cuda.empty_cache()
    taken = torch.empty(torch.cuda.mem_get_info()[0] - 3 * 2**30, dtype=torch.uint8, device="cuda")
    yield
    del taken
    torch.cuda.empty_cache()


def assert_alike(first: list[Run], second: list[Run], epochs: int) -> None:
    """Equal up to rounding, which is small in the first epochs."""
    for one, other in zip(first, second, strict=True):
        assert len(one.history) == len(other.history)
        for here, there in zip(one.history[:epochs], other.history[:epochs], strict=True):
            for name in ("train_loss", "validation_loss"):
                assert here[name] == pytest.approx(there[name], rel=0.05, abs=0.05)


def test_a_cohort_larger_than_memory_is_split_and_reported(pictures: DataSet, little_memory: None) -> None:
    specs = grid(method="limit-l", seed=list(range(128)), epochs=2, batch_size=256)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Notice)
        runs = train(specs, pictures, device="cuda")
    assert "128 runs do not fit" in str(caught[0].message)
    assert_alike(train(specs[:3], pictures, device="cuda"), runs[:3], epochs=1)


def test_rows_that_leave_a_graph_change_nothing(pictures: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = [spec for epochs in (6, 2, 4) for spec in grid(method="limit-l", seed=[0, 1], epochs=epochs)]
    runs: list[list[Run]] = []
    for pays in (True, False):
        monkeypatch.setattr(Block, "_removal_pays", lambda *_, answer=pays: answer)
        runs.append(train(specs, pictures, device="cuda"))
    assert [len(run.history) for run in runs[0]] == [6, 6, 2, 2, 4, 4]
    assert_alike(*runs, epochs=3)  # rows leave after the second


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_kernels_and_graphs_compute_what_torch_computes(pictures: DataSet, precision: str) -> None:
    specs = grid(method=["ce", "limit-l", "limit-g"], seed=[0, 1], epochs=3, precision=precision)
    plain = train(specs, pictures, device="cuda", kernels="off", graphs="off")
    assert_alike(train(specs, pictures, device="cuda", kernels="on", graphs="on"), plain, epochs=2)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": ["limit-l+s", "limit-g+s", "ce-gn"]},
        {"method": ["fw", "dmi", "limit-l+init"]},
        {"method": "limit-l", "dropout": 0.3, "optimiser": "sgd", "learning_rate": 0.01},
        {"method": ["ce", "limit-g"], "network": "resnet-18", "augmentation": "flip-crop"},
    ],
    ids=["sampled", "children", "dropout and sgd", "residual, rows one by one"],
)
def test_graphs_compute_what_launched_steps_compute(pictures: DataSet, settings: dict[str, Any]) -> None:
    """With draws, determinants and streams, which recording could break."""
    specs = grid(seed=[0, 1], epochs=3, precision="float32", **settings)
    plain = train(specs, pictures, device="cuda", kernels="off", graphs="off")
    assert_alike(train(specs, pictures, device="cuda", kernels="on", graphs="on"), plain, epochs=1)


@pytest.mark.parametrize("way", ["on", "off"])
def test_with_dropout_hits_are_those_of_the_whole_network(pictures: DataSet, way: str) -> None:
    """Up to rounding: other kernels score finished rows."""
    specs = grid(method=["ce", "limit-l"], seed=[0, 1], epochs=20, dropout=0.5, noise="uniform:0.4")
    for run in train(specs, pictures, device="cuda", kernels=way, graphs=way):
        whole = run.metrics["memorised_wrong_labels"]
        assert run.history[-1]["wrong_fitted"] == pytest.approx(whole, abs=0.01)


def test_a_gpu_trains_what_the_cpu_trains(tiny_images: DataSet) -> None:
    """Up to rounding in the first epoch."""
    specs = eight_specs()
    runs = [train(specs, tiny_images, device=device) for device in ("cpu", "cuda")]
    for reference, run in zip(*runs, strict=True):
        assert len(run.history) == len(reference.history)
        for name in ("train_loss", "validation_loss"):
            assert run.history[0][name] == pytest.approx(reference.history[0][name], rel=0.02, abs=0.02)


def test_averages_are_the_same_with_and_without_graphs(tiny_images: DataSet) -> None:
    """At rates so low that rounding does not grow; rows leave, so steps are recorded again."""
    specs = [replace(spec, learning_rate=1e-6, precision="float32") for spec in mixed_specs()]
    runs = [train(specs, tiny_images, device="cuda", graphs=way, averaged=True) for way in ("on", "off")]
    for recorded, plain in zip(*runs, strict=True):
        np.testing.assert_allclose(recorded.averaged.classifier, plain.averaged.classifier, atol=1e-3)
        if plain.averaged.predictor is not None:
            np.testing.assert_allclose(recorded.averaged.predictor, plain.averaged.predictor, atol=1e-3)
