"""What an audit trains, by the data and by what a person says."""

import dataclasses

import numpy as np
import pytest

from noiselimit.audit.plan import (
    DEFAULT,
    FAST,
    AuditPlan,
    Candidate,
    Recipe,
    Recipes,
    auto_batch_size,
    auto_epochs,
)
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.errors import InputError
from noiselimit.networks import NETWORKS
from noiselimit.runs.binding import bind


def trained(plan: AuditPlan, data: DataSet) -> list[tuple[str, float, int]]:
    return [(spec.method, spec.hyper["beta"], spec.seed) for spec in plan.specs(data)]


def test_the_default_trains_two_betas_and_fast_one_and_no_run_stops_early(blobs: DataSet) -> None:
    assert trained(DEFAULT, blobs) == [("limit-l", 3.0, 0), ("limit-l", 10.0, 0)]
    assert trained(FAST, blobs) == [("limit-l", 3.0, 0)]
    assert len(AuditPlan(seeds=(0, 1, 2)).specs(blobs)) == 6
    for plan in (DEFAULT, FAST):
        assert all(spec.test_share == 0 and spec.patience == spec.epochs for spec in plan.specs(blobs))


def test_what_may_not_learn_from_scratch_starts_from_cross_entropy(tiny_images: DataSet) -> None:
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
    assert trained(AuditPlan(network="small-cnn"), by_data) == either
    first, second = (bind(spec, by_data).parent for spec in DEFAULT.specs(by_data))
    assert first == second is not None  # one CE run serves both


def test_every_network_has_a_recipe_that_somebody_thought_of() -> None:
    kinds = {name: DEFAULT.recipes.fitting(name) for name in NETWORKS}
    recipes = DEFAULT.recipes
    simple, residual = {"linear", "mlp", "mnist-cnn"}, {"resnet-18", "resnet-34", "resnet-50"}
    assert {name for name, kind in kinds.items() if kind == recipes.simple} == simple
    assert {name for name, kind in kinds.items() if kind == recipes.residual} == residual


def test_named_betas_replace_the_candidates(blobs: DataSet, tiny_images: DataSet) -> None:
    plan = AuditPlan(betas=(1.0, 2.0), seeds=(4, 5))
    assert trained(plan, blobs) == [("limit-l", beta, seed) for beta in (1, 2) for seed in (4, 5)]
    deep = AuditPlan(betas=(0.3,), network="resnet-18")
    assert trained(deep, tiny_images) == [("limit-g+init", 0.3, 0)]


def test_a_method_without_beta_can_be_a_candidate(blobs: DataSet) -> None:
    plan = AuditPlan(recipes=Recipes(simple=Recipe((Candidate("ce", None),))))
    assert [(spec.method, dict(spec.hyper)) for spec in plan.specs(blobs)] == [("ce", {})]


@pytest.mark.parametrize(("examples", "usual", "fast"), [(20, 60, 60), (500, 30, 20), (10_000, 30, 20)])
def test_shares_are_of_what_nobody_chose_unless_examples_are_few(
    examples: int, usual: int, fast: int
) -> None:
    data = DataSet("x", make_examples(np.zeros((examples, 2)), np.arange(examples) % 2))
    assert {spec.epochs for spec in DEFAULT.specs(data)} == {usual}
    for plan in (FAST, dataclasses.replace(FAST, betas=(1.0,))):
        assert {spec.epochs for spec in plan.specs(data)} == {fast}
        assert {spec.epochs for spec in dataclasses.replace(plan, epochs=9).specs(data)} == {9}
        assert plan.usual(data)["epochs"] == usual


def test_the_data_say_what_the_plan_does_not(tiny_images: DataSet) -> None:
    defaults = {"network": "resnet-34", "augmentation": "flip-crop", "epochs": 7}
    data = dataclasses.replace(tiny_images, defaults=defaults)
    own, _ = DEFAULT.specs(data)
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
    assert auto_batch_size(examples) == size
    assert auto_epochs(examples, size) == epochs


def test_large_pictures_keep_usual_batches() -> None:
    assert auto_batch_size(10**6, 3 * 224 * 224) == 256


def test_sizes_follow_from_what_trains() -> None:
    data = DataSet("x", make_examples(np.zeros((1000, 2)), np.arange(1000) % 2))
    assert {spec.batch_size for spec in AuditPlan(validation_share=0.2).specs(data)} == {50}
    assert {spec.batch_size for spec in AuditPlan(validation_share=0.36).specs(data)} == {40}
