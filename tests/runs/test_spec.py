import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.examples import DataSet
from noiselimit.engine.optimisers import OPTIMISERS, SCHEDULES
from noiselimit.engine.preparation import bind
from noiselimit.errors import InputError
from noiselimit.networks.pretrained import WeightsFile
from noiselimit.noise import MatrixNoise, UniformNoise
from noiselimit.randomness import SAMPLERS
from noiselimit.runs.spec import RunSpec, grid, setting

SPECS = st.builds(
    RunSpec,
    method=st.sampled_from(["limit-l", "limit-g"]),
    hyper=st.fixed_dictionaries({}, optional={"beta": st.floats(0, 1e6)}),
    seed=st.integers(0, 2**63 - 1),
    noise=st.one_of(st.builds(UniformNoise, st.floats(0, 1)), st.just(MatrixNoise(((0.9, 0.1), (0.2, 0.8))))),
    epochs=st.integers(1, 1000),
    learning_rate=st.floats(1e-9, 10),
    schedule=st.sampled_from(["constant", "cosine"]),
    train_size=st.none() | st.integers(2, 100),
    transition=st.none() | st.builds(UniformNoise, st.floats(0, 1)),
    initial_weights=st.none()
    | st.builds(WeightsFile, st.sampled_from(["a", "b"]), st.sampled_from(["0", "1"])),
)


@given(SPECS)
def test_json_round_trip(spec: RunSpec) -> None:
    assert RunSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


@given(SPECS, SPECS)
def test_the_hash_tells_specs_apart(first: RunSpec, second: RunSpec) -> None:
    bound = {"data": "d", "network": "mlp", "precision": "float32"}
    first, second = (dataclasses.replace(s, **bound) for s in (first, second))
    assert (first.hash == second.hash) == (first == second)


def test_every_field_enters_the_hash(blobs: DataSet) -> None:
    base = bind(RunSpec(), blobs)
    others = {
        "method": "limit-g", "hyper": {"beta": 3}, "seed": 1, "noise": UniformNoise(0.1),
        "network": "mlp-4x512", "predictor_network": "mlp-4x512", "epochs": 7, "patience": 7, "batch_size": 7,
        "optimiser": "sgd", "learning_rate": 0.7, "schedule": "cosine", "weight_decay": 0.7, "momentum": 0.7,
        "validation_share": 0.3, "test_share": 0.3, "train_size": 7, "data": "other",
        "predictor_features": "a.b:c", "initial_weights": WeightsFile("w", "0" * 64), "dropout": 0.5,
        "augmentation": "flip", "sampler": "balanced", "validation_labels": "clean",
        "transition": UniformNoise(0.1), "parent_learning_rate": 0.7, "parent": "0" * 16,
        "parent_epochs": 7, "precision": "bfloat16", "batch_norm": "local",
    }  # fmt: skip
    assert others.keys() == {field.name for field in dataclasses.fields(RunSpec)}
    hashes = {dataclasses.replace(base, **{name: value}).hash for name, value in others.items()}
    assert len(hashes | {base.hash}) == len(others) + 1


def test_the_hash_is_frozen() -> None:
    """Changing this orphans every result ever stored: raise SCHEMA on purpose, or mend the change."""
    spec = RunSpec("limit-l", {"beta": 3}, seed=1, noise=UniformNoise(0.4), network="mlp", data="0" * 32)
    assert dataclasses.replace(spec, precision="float32").hash == "a2a1a942dfc4f530"


def test_the_hash_needs_data(blobs: DataSet) -> None:
    with pytest.raises(InputError, match="not bound to data"):
        _ = RunSpec().hash
    bound = bind(RunSpec(), blobs)
    assert bound.data == blobs.fingerprint
    assert bound.network == "mlp"
    assert bound.folder_name == f"limit-l-beta10-seed0-{bound.hash}"


def test_a_data_sets_own_test_part_makes_the_share_irrelevant(blobs: DataSet) -> None:
    tested = DataSet("blobs", blobs.examples, blobs.examples)
    assert bind(RunSpec(test_share=0.3), tested).hash == bind(RunSpec(), tested).hash


def test_settings_that_do_not_act_do_not_count(blobs: DataSet) -> None:
    same = [
        (RunSpec("ce"), RunSpec("ce", predictor_network="mlp-4x512")),
        (RunSpec(network="mlp"), RunSpec(predictor_network="mlp")),
        (RunSpec(), RunSpec(momentum=0.5)),
        (RunSpec(hyper={"beta": 0.0}), RunSpec(hyper={"beta": -0.0})),
    ]
    for first, second in same:
        assert bind(first, blobs).hash == bind(second, blobs).hash
    assert (
        bind(RunSpec(optimiser="sgd"), blobs).hash != bind(RunSpec(optimiser="sgd", momentum=0.5), blobs).hash
    )


def test_specs_can_be_keys_and_arrays_can_be_choices() -> None:
    assert len({RunSpec(), RunSpec(), RunSpec(seed=1)}) == 2
    assert grid(beta=np.array([1, 3])) == grid(beta=[1, 3])
    assert RunSpec(noise=np.array([[0.9, 0.1], [0.2, 0.8]])).noise == MatrixNoise(((0.9, 0.1), (0.2, 0.8)))  # type: ignore[arg-type]


def test_a_grid_has_every_combination_once() -> None:
    specs = grid(method=["ce", "limit-l"], beta=[1, 10], seed=[0, 1], epochs=20)
    assert [(s.method, s.hyper.get("beta"), s.seed) for s in specs] == [
        ("ce", None, 0), ("ce", None, 1),
        ("limit-l", 1.0, 0), ("limit-l", 1.0, 1), ("limit-l", 10.0, 0), ("limit-l", 10.0, 1),
    ]  # fmt: skip
    assert all(s.epochs == 20 for s in specs)
    assert len({setting(s).to_json()["hyper"].get("beta") for s in specs}) == 3


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"method": "limit"}, "unknown method 'limit': did you mean 'limit-"),
        ({"method": "ce", "beta": 1}, "beta is not a hyper-parameter of ce: leave it out"),
        ({"bta": 1}, "unknown option 'bta': did you mean 'beta'"),
        ({"beta": -1}, "beta is -1: give a number ≥ 0"),
        ({"epochs": 0}, "epochs is 0: give a whole number ≥ 1"),
        ({"epochs": True}, "epochs is True"),
        ({"batch_size": 1}, "batch_size is 1: give a whole number ≥ 2"),
        ({"learning_rate": 0}, "learning_rate is 0"),
        ({"validation_share": 1}, "validation_share is 1: give a number ≥ 0 and < 1"),
        ({"optimiser": "adamw"}, "unknown optimiser 'adamw': did you mean 'adam'"),
        ({"network": "resnet"}, "unknown network 'resnet'"),
        ({"noise": 3}, "noise is 3: give text such as 'uniform:0.4'"),
        ({"method": None}, "unknown method 'None'"),
        ({"learning_rate": 10**400}, "learning_rate is 1000"),
        ({"seed": 2**64}, "seed is 18446744073709551616"),
        ({"optimiser": [["adam"]]}, "unknown optimiser"),
        ({"beta": 1e39}, "beta is 1e+39: give a smaller number"),
    ],
)
def test_bad_values_get_a_sentence(choices: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as caught:
        grid(**choices)
    assert words in str(caught.value)


def test_names_are_those_of_the_engine() -> None:
    for name, table in {"optimiser": OPTIMISERS, "schedule": SCHEDULES, "sampler": SAMPLERS}.items():
        assert RunSpec.__dataclass_fields__[name].metadata["names"] == tuple(table)


def test_a_spec_of_another_schema_is_refused() -> None:
    for changed in ({"schema": 99}, {"new_field": 1}, {"hyper": None}):
        with pytest.raises(InputError, match="another version of noiselimit"):
            RunSpec.from_json({**RunSpec().to_json(), **changed})
