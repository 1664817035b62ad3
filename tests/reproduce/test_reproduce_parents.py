"""The CE runs that others start from."""

import dataclasses
import json

import pytest

from noiselimit.binding import bind, parent_spec
from noiselimit.data.sources import load_data
from noiselimit.reproduce.parents import is_parent, parents_there, place_of
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.result import Places
from noiselimit.reproduce.studies import STUDIES, chosen_cells
from noiselimit.reproduce.work import all_tasks


@pytest.fixture(scope="module")
def digits():
    return load_data("digits")


def specs(epochs, digits, method="limit-g+init"):
    protocol = protocol_for("cifar10", quick=True, epochs=epochs)
    cells = chosen_cells(STUDIES["cifar10"], [method], ["uniform:0.4"])
    return [bind(task.spec, digits) for task in all_tasks(cells, [0], protocol)]


def test_a_screen_of_few_epochs_starts_from_the_whole_ce_run(digits):
    screened, whole = specs(1, digits), specs(None, digits)
    assert {spec.epochs for spec in screened} == {1}
    assert {spec.parent for spec in screened} == {spec.parent for spec in whole}
    assert parent_spec(screened[0]).epochs == whole[0].epochs


def test_the_parent_of_a_screen_is_no_task_of_it(digits):
    protocol = protocol_for("cifar10", quick=True, epochs=1)
    cells = chosen_cells(STUDIES["cifar10"], ["ce", "fw"], ["uniform:0.4"])
    places = Places(all_tasks(cells, [0], protocol))
    (child,) = specs(1, digits, "fw")
    parent = parent_spec(child)
    assert not places.is_task(parent)
    assert places.is_task(dataclasses.replace(parent, epochs=1))
    assert places.find(parent)[0].method == "ce"


def test_whole_ce_runs_of_the_table_s_network_are_there_to_start_from(tmp_path, digits):
    screen = protocol_for("cifar10", quick=True, epochs=1)
    (child,) = specs(1, digits, "fw")
    parent = parent_spec(child)
    others = [
        dataclasses.replace(parent, epochs=1, seed=1),
        dataclasses.replace(parent, network="mlp", seed=2),
    ]
    for spec in (parent, *others):
        assert is_parent(spec, screen) == (spec is parent)
        folder = tmp_path / spec.folder_name
        folder.mkdir()
        (folder / "spec.json").write_text(json.dumps(spec.to_json()))
    broken = tmp_path / "ce-seed3-0000000000000000"
    broken.mkdir()
    (broken / "spec.json").write_text("{")
    assert parents_there(tmp_path, screen) == {place_of(child)} == {place_of(parent)}
    assert parents_there(tmp_path / "none", screen) == set()
