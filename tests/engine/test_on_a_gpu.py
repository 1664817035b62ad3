"""What only a GPU can show: cohorts that do not fit, rows that leave a recorded step, and the fast ways."""

from collections.abc import Iterator
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

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")


@pytest.fixture(scope="module")
def pictures() -> DataSet:
    """1,000 pictures of MNIST's shape, bright where their class says."""
    generator = np.random.default_rng(5)
    labels = np.arange(1_000) % 4
    values = generator.integers(0, 60, size=(1_000, 1, 28, 28))
    for number in range(4):
        values[labels == number, :, 7 * number : 7 * number + 7] += 80
    return DataSet("bars", make_examples(values.astype(np.uint8), labels))


@pytest.fixture
def little_memory() -> Iterator[None]:
    """All but 3 GiB of the device's memory are somebody else's."""
    torch.cuda.empty_cache()
    taken = torch.empty(torch.cuda.mem_get_info()[0] - 3 * 2**30, dtype=torch.uint8, device="cuda")
    yield
    del taken
    torch.cuda.empty_cache()


def assert_alike(first: list[Run], second: list[Run], epochs: int) -> None:
    """The same up to rounding, which has not grown much in the first epochs."""
    for one, other in zip(first, second, strict=True):
        assert len(one.history) == len(other.history)
        for here, there in zip(one.history[:epochs], other.history[:epochs], strict=True):
            for name in ("train_loss", "validation_loss"):
                assert here[name] == pytest.approx(there[name], rel=0.05, abs=0.05)


def test_a_cohort_larger_than_memory_is_split_and_says_so(pictures: DataSet, little_memory: None) -> None:
    specs = grid(method="limit-l", seed=list(range(128)), epochs=2, batch_size=256)
    with pytest.warns(Notice, match="128 runs do not fit into the device's memory at once") as said:
        runs = train(specs, pictures, device="cuda")
    print([str(each.message) for each in said])
    assert len(said) == 1  # measured well enough that none of the pieces had to be halved
    assert_alike(train(specs[:3], pictures, device="cuda"), runs[:3], epochs=1)


def test_rows_that_leave_a_recorded_step_change_nothing(
    pictures: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = [spec for epochs in (6, 2, 4) for spec in grid(method="limit-l", seed=[0, 1], epochs=epochs)]
    runs: list[list[Run]] = []
    for pays in (True, False):
        monkeypatch.setattr(Block, "_removal_pays", lambda *_, answer=pays: answer)
        runs.append(train(specs, pictures, device="cuda"))
    assert [len(run.history) for run in runs[0]] == [6, 6, 2, 2, 4, 4]
    assert_alike(*runs, epochs=3)  # rows leave after the second


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_fast_ways_compute_what_the_plain_one_computes(pictures: DataSet, precision: str) -> None:
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
def test_recorded_steps_compute_what_launched_ones_do(pictures: DataSet, settings: dict[str, Any]) -> None:
    """With the draws, determinants and streams that recording could break."""
    specs = grid(seed=[0, 1], epochs=3, precision="float32", **settings)
    plain = train(specs, pictures, device="cuda", kernels="off", graphs="off")
    assert_alike(train(specs, pictures, device="cuda", kernels="on", graphs="on"), plain, epochs=1)


@pytest.mark.parametrize("way", ["on", "off"])
def test_with_dropout_the_history_counts_what_the_whole_network_hits(pictures: DataSet, way: str) -> None:
    """Up to what rounding decides: rows are scored by other launches when they end."""
    specs = grid(method=["ce", "limit-l"], seed=[0, 1], epochs=20, dropout=0.5, noise="uniform:0.4")
    for run in train(specs, pictures, device="cuda", kernels=way, graphs=way):
        whole = run.metrics["memorised_wrong_labels"]
        assert run.history[-1]["wrong_fitted"] == pytest.approx(whole, abs=0.01)
