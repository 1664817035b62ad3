"""What an audit trains, by the data and by what a person says."""

import dataclasses

import numpy as np
import pytest

from noiselimit.audit.plan import DEFAULT, FAST, AuditPlan
from noiselimit.automatic import fitting_batch_size, fitting_epochs
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.errors import InputError


def test_the_default_trains_two_betas_and_fast_one_and_no_run_stops_early(blobs: DataSet) -> None:
    specs = DEFAULT.specs(blobs)
    assert [(spec.method, spec.hyper["beta"], spec.seed) for spec in specs] == [
        ("limit-l", 3.0, 0),
        ("limit-l", 10.0, 0),
    ]
    assert {(spec.test_share, spec.patience) for spec in specs} == {(0.0, specs[0].epochs)}
    assert [spec.hyper["beta"] for spec in FAST.specs(blobs)] == [3.0]
    assert len(AuditPlan(seeds=(0, 1, 2)).specs(blobs)) == 6
    assert [dict(spec.hyper) for spec in AuditPlan(method="ce").specs(blobs)] == [{}]


def test_the_data_say_what_the_plan_does_not(tiny_images: DataSet) -> None:
    defaults = {"network": "resnet-34", "augmentation": "flip-crop", "epochs": 7}
    data = dataclasses.replace(tiny_images, defaults=defaults)
    (own,) = FAST.specs(data)
    assert (own.network, own.augmentation, own.epochs, own.patience) == ("resnet-34", "flip-crop", 7, 7)
    (said,) = dataclasses.replace(FAST, network="small-cnn", augmentation="none", epochs=3).specs(data)
    assert (said.network, said.augmentation, said.epochs, said.patience) == ("small-cnn", "none", 3, 3)
    with pytest.raises(InputError, match="batch_size is 1"):
        AuditPlan(batch_size=1).specs(data)


@pytest.mark.parametrize(
    ("examples", "size", "epochs"),
    [
        (20, 32, 60),
        (1_000, 62, 30),
        (8_000, 256, 30),
        (48_000, 256, 30),
        (80_000, 256, 30),
        (200_000, 256, 12),
        (800_000, 1000, 12),
        (8_000_000, 1024, 8),
    ],
)
def test_steps_are_bounded_but_not_below_eight_epochs(examples: int, size: int, epochs: int) -> None:
    assert fitting_batch_size(examples) == size
    assert fitting_epochs(examples, size) == epochs


def test_large_pictures_keep_usual_batches() -> None:
    assert fitting_batch_size(10**6, 3 * 224 * 224) == 256


def test_sizes_follow_from_what_trains() -> None:
    data = DataSet("x", make_examples(np.zeros((1000, 2)), np.arange(1000) % 2))
    assert {spec.batch_size for spec in AuditPlan(validation_share=0.2).specs(data)} == {50}
    assert {spec.batch_size for spec in AuditPlan(validation_share=0.36).specs(data)} == {40}
