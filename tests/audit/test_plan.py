"""What an audit trains, by the data and by the user's settings."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from noiselimit.audit.plan import (
    DEFAULT,
    FAST,
    AuditPlan,
    auto_batch_size,
    auto_epochs,
)
from noiselimit.data.arrays import Rows
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.preparation import bind
from noiselimit.errors import InputError
from noiselimit.networks import WeightsFile


def trained(plan: AuditPlan, data: DataSet) -> list[tuple[str, float, int]]:
    return [(spec.method, spec.hyper["beta"], spec.seed) for spec in plan.specs(data)]


def zeros(examples: int) -> DataSet:
    return DataSet("x", make_examples(np.zeros((examples, 2)), np.arange(examples) % 2))


def test_the_default_trains_two_betas_and_fast_one_without_early_stopping(blobs: DataSet) -> None:
    assert trained(DEFAULT, blobs) == [("limit-l", 3.0, 0), ("limit-l", 10.0, 0)]
    assert trained(FAST, blobs) == [("limit-l", 3.0, 0)]
    assert len(AuditPlan(seeds=(0, 1, 2)).specs(blobs)) == 6
    for plan in (DEFAULT, FAST):
        assert all(spec.test_share == 0 and spec.patience == spec.epochs for spec in plan.specs(blobs))


def test_pictures_start_from_cross_entropy(tiny_images: DataSet) -> None:
    deep = [("limit-g+init", 1.0, 0), ("limit-l+init", 1.0, 0)]
    either = [("limit-l", 3.0, 0), ("limit-l+init", 3.0, 0)]
    for network, expected, fast in (
        ("resnet-18", deep, deep[0]),
        ("small-cnn", either, either[1]),
        ("auto", either, either[1]),
        ("my.networks:factory", either, either[1]),
    ):
        assert trained(AuditPlan(network=network), tiny_images) == expected
        assert trained(dataclasses.replace(FAST, network=network), tiny_images) == [fast]
    by_data = dataclasses.replace(tiny_images, defaults={"network": "resnet-34"})
    assert trained(DEFAULT, by_data) == deep
    first, second = (bind(spec, by_data).parent for spec in DEFAULT.specs(by_data))
    assert first == second is not None  # one CE run serves both


def test_betas_replace_the_candidates(blobs: DataSet, tiny_images: DataSet) -> None:
    plan = AuditPlan(betas=(1.0, 2.0), seeds=(4, 5))
    assert trained(plan, blobs) == [("limit-l", beta, seed) for beta in (1, 2) for seed in (4, 5)]
    assert trained(AuditPlan(betas=(0.3,), network="resnet-18"), tiny_images) == [("limit-g+init", 0.3, 0)]


@pytest.mark.parametrize(("examples", "usual", "fast"), [(20, 60, 60), (500, 30, 20), (10_000, 30, 20)])
def test_recipes_shorten_default_epochs_unless_examples_are_few(examples: int, usual: int, fast: int) -> None:
    data = zeros(examples)
    assert {spec.epochs for spec in DEFAULT.specs(data)} == {usual}
    assert {spec.epochs for spec in FAST.specs(data)} == {fast}
    assert {spec.epochs for spec in dataclasses.replace(FAST, epochs=9).specs(data)} == {9}
    assert FAST.settings(data)["epochs"] == usual


def test_the_plan_overrides_the_defaults_of_the_data(tiny_images: DataSet) -> None:
    defaults = {"network": "resnet-34", "augmentation": "flip-crop", "epochs": 7}
    data = dataclasses.replace(tiny_images, defaults=defaults)
    spec, _ = DEFAULT.specs(data)
    assert (spec.network, spec.augmentation, spec.epochs, spec.patience) == ("resnet-34", "flip-crop", 7, 7)
    (spec,) = dataclasses.replace(FAST, network="small-cnn", augmentation="none", epochs=3).specs(data)
    assert (spec.network, spec.augmentation, spec.epochs, spec.patience) == ("small-cnn", "none", 3, 3)
    with pytest.raises(InputError, match="batch_size"):
        AuditPlan(batch_size=1).specs(data)


@pytest.mark.parametrize(
    ("examples", "size", "epochs"),
    [(20, 32, 60), (1_000, 62, 30), (80_000, 256, 30), (800_000, 1000, 12), (8_000_000, 1024, 8)],
)
def test_batch_size_and_epochs_follow_the_number_of_examples(examples: int, size: int, epochs: int) -> None:
    assert auto_batch_size(examples) == size
    assert auto_epochs(examples, size) == epochs
    assert auto_batch_size(examples, 3 * 224 * 224) == min(size, 256)


def test_every_setting_of_the_plan_reaches_the_runs(blobs: DataSet) -> None:
    settings = {
        "network": "linear",
        "epochs": 7,
        "batch_size": 48,
        "learning_rate": 0.01,
        "schedule": "cosine",
        "optimiser": "sgd",
        "augmentation": "flip",
        "initial_weights": WeightsFile("a.safetensors", "0"),
        "validation_share": 0.3,
        "precision": "float32",
    }
    shared = {field.name for field in dataclasses.fields(AuditPlan)} & {
        field.name for field in dataclasses.fields(DEFAULT.specs(blobs)[0])
    }
    assert shared == settings.keys()
    for spec in AuditPlan(**settings).specs(blobs):  # type: ignore[arg-type]
        assert {name: getattr(spec, name) for name in settings} == settings


def test_vectors_in_a_file_get_fewer_epochs_only_if_there_are_very_many() -> None:
    def epochs(count: int, *, in_file: bool) -> list[int]:
        rows = Rows(Path("x"), (count, 2)) if in_file else np.zeros((count, 2), np.float32)
        data = DataSet("x", make_examples(rows, np.arange(count) % 2))
        return [spec.epochs for spec in (*DEFAULT.specs(data), *FAST.specs(data))]

    for count in (1_000, 100_000, 1_000_000):
        assert epochs(count, in_file=True) == epochs(count, in_file=False)
    assert epochs(3_000_000, in_file=False) == [8, 8, 6]
    assert epochs(3_000_000, in_file=True) == [4, 4, 3]
    assert epochs(20_000_000, in_file=True) == [2, 2, 2]
