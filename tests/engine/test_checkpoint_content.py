"""Checkpoints that somebody made, whose checksum is right: refused in a sentence, and nothing is written."""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from broken_off import assert_same_run, train_broken
from torch import Tensor

from noiselimit.data.examples import DataSet
from noiselimit.engine.checkpoint_file import read_entries, read_state, to_tensors, write_tensors
from noiselimit.engine.results import RowState
from noiselimit.errors import InputError
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train

SPEC = RunSpec("limit-l", epochs=3, batch_size=16, network="linear", noise="uniform:0.3")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole(blobs: DataSet) -> Run:
    return train(SPEC, blobs, device="cpu", threads=1)[0]


@pytest.fixture(scope="module")
def state(blobs: DataSet, tmp_path_factory: pytest.TempPathFactory) -> RowState:
    out = tmp_path_factory.mktemp("broken")
    train_broken([SPEC], blobs, out, after=2)
    path = max((out / ".checkpoints").iterdir())
    ((run, entry),) = read_entries(path).items()
    return read_state(path, run, entry)


def everywhere(**values: object) -> Callable[[Any], None]:
    """Change every line of the history."""

    def change(told: Any) -> None:
        for record in told["history"]:
            record.update(values)

    return change


def shortened(told: Any) -> None:
    told["history"] = [{"epoch": record["epoch"]} for record in told["history"]]


def doubled(told: Any) -> None:
    told["history"][1] = told["history"][0]


CHANGES: dict[str, Callable[[Any], None]] = {
    "epochs alone": shortened,
    "an epoch twice": doubled,
    "no history": lambda told: told.update(history=None),
    "texts as history": lambda told: told.update(history=["a", "b"]),
    "text as accuracy": everywhere(validation_accuracy="<script>alert(1)</script>"),
    "no accuracy": everywhere(validation_accuracy=None),
    "NaN as loss": everywhere(train_loss=math.nan),
    "infinity as loss": everywhere(validation_loss=math.inf),
    "beyond counting": everywhere(step=10**400),
    "something in it": everywhere(test_accuracy={"a": [1]}),
    "something more": everywhere(more=1),
    "truth as number": everywhere(train_loss=True),
    "step 0": lambda told: told.update(step=0),
    "half a step": lambda told: told.update(step=0.5),
    "another step": lambda told: told.update(step=10**15),
    "NaN as capacity": lambda told: told.update(capacity=math.nan),
    "text as capacity": lambda told: told.update(capacity="1"),
    "negative estimate": lambda told: told.update(estimate=-1),
    "half a letter": lambda told: told.update(more="\ud800"),
}


def refused(
    state: RowState, spec: RunSpec, data: DataSet, out: Path, change: Callable[[dict[str, Tensor]], None]
) -> None:
    """A folder with the state, changed, as the one checkpoint of its run."""
    tensors, metadata = to_tensors([(spec, state)])
    change(tensors)
    path = write_tensors(out / ".checkpoints", "epoch-00002", tensors, metadata)
    with pytest.raises(
        InputError, match=r"is no proper checkpoint \(.*\): delete it|does not fit the networks"
    ):
        train_broken([SPEC], data, out, after=10)
    assert [path for path in out.rglob("*") if path.is_file()] == [path]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_state_that_no_training_wrote_is_refused(
    state: RowState, whole: Run, blobs: DataSet, tmp_path: Path, change: Callable[[Any], None]
) -> None:
    def write(tensors: dict[str, Tensor]) -> None:
        (name,) = (name for name in tensors if name.endswith("/run"))
        told = json.loads(bytes(tensors[name].tolist()))
        change(told)
        tensors[name] = torch.frombuffer(bytearray(json.dumps(told).encode()), dtype=torch.uint8)

    refused(state, whole.spec, blobs, tmp_path, write)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("part", ["classifier.weights", "predictor.best_weights"])
def test_weights_that_are_no_numbers_are_refused(
    state: RowState, whole: Run, blobs: DataSet, tmp_path: Path, part: str, value: float
) -> None:
    def write(tensors: dict[str, Tensor]) -> None:
        (name,) = (name for name in tensors if name.endswith(f"/{part}"))
        tensors[name] = tensors[name].clone()
        tensors[name][1] = value

    refused(state, whole.spec, blobs, tmp_path, write)


def test_squares_of_large_gradients_may_be_infinite(
    state: RowState, whole: Run, blobs: DataSet, tmp_path: Path
) -> None:
    """Then a weight learns no more, but it is a number."""
    changed = {name: tensor.clone() for name, tensor in state.tensors.items() if ".moments." in name}
    changed[max(changed)][0] = math.inf
    other = dataclasses.replace(state, tensors={**state.tensors, **changed})
    write_tensors(tmp_path / ".checkpoints", "epoch-00002", *to_tensors([(whole.spec, other)]))
    runs, said = train_broken([SPEC], blobs, tmp_path, after=10)
    assert said == ["1 of 1 runs go on from epoch 2."]
    assert runs is not None
    assert not runs[0].failed


def test_the_state_as_it_was_goes_on(state: RowState, blobs: DataSet, whole: Run, tmp_path: Path) -> None:
    write_tensors(tmp_path / ".checkpoints", "epoch-00002", *to_tensors([(whole.spec, state)]))
    runs, said = train_broken([SPEC], blobs, tmp_path, after=10)
    assert said == ["1 of 1 runs go on from epoch 2."]
    assert runs is not None
    assert_same_run(whole, runs[0])
