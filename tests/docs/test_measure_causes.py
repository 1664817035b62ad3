"""Causes are looked for by the tables' protocol, one thing changed."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from torch import nn

from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.reproduce.protocol import protocol_for

PROTOCOL = protocol_for("mnist")


@pytest.fixture
def causes(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("measure_causes")


def test_every_problem_has_its_runs(causes: Any) -> None:
    for part, runs in {"batches": (1 + 1 + 1 + 4) + 2, "controls": 2}.items():
        few = causes.batch_specs(part, PROTOCOL, [0])
        assert {spec.batch_size for spec in few} == {64, 128, 256}
        assert len(few) == 3 * runs


def test_one_thing_is_changed(causes: Any) -> None:
    usual = causes.CHANGED.specs([0], PROTOCOL)
    for part, changes in causes.CHANGES.items():
        changed = causes.changed_specs(part, PROTOCOL, [0])
        assert len(changed) == len(usual) == 8
        assert [
            replace(one, **{name: getattr(usual[0], name) for name in changes}) for one in changed
        ] == usual
        assert changed != usual


def test_changed_networks_train(causes: Any) -> None:
    pictures = np.random.default_rng(0).random((60, 1, 28, 28), np.float32)
    data = DataSet("noise", make_examples(pictures, np.arange(60) % 10))
    protocol = replace(PROTOCOL, epochs=1, batch_size=16)
    specs = [causes.changed_specs(part, protocol, [0])[0] for part in ("weights", "norm")]
    found = causes.trained(specs, data, "cpu")
    assert [run["epochs_run"] for run in found["runs"]] == [1, 1]
    assert {run["noise"] for run in found["runs"]} == {"uniform:0.89"}
    assert found["seconds"] > 0


def test_the_author_s_predictor_has_one_norm_more(
    document_module: Callable[[str], ModuleType],
) -> None:
    networks = document_module("causes_networks")
    ours, normed = (
        [type(layer) for layer in build((1, 28, 28), 10).modules()]
        for build in (networks.other_weights, networks.with_norm)
    )
    assert [layer for layer in normed if layer is nn.BatchNorm1d] == [nn.BatchNorm1d]
    assert [layer for layer in normed if layer is not nn.BatchNorm1d] == ours


def test_shares_of_right_labels_are_those_of_the_seed_s_noise(causes: Any) -> None:
    names = tuple("0123456789")
    examples = Examples(np.ones((50_000, 2), np.float32), np.arange(50_000) % 10, names)
    data = DataSet("flat", examples, test=examples)
    found = causes.right_labels(data, [0, 1])
    assert found["n"] == 48_000
    first, second = found["seeds"]
    assert first["train"] != second["train"]
    for one in (first, second):
        assert one["train"] == pytest.approx(0.11, abs=0.006)
        assert one["validation"] == pytest.approx(0.11, abs=0.012)
