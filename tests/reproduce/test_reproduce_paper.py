"""The paper's numbers, the cells of its tables and the runs that they take."""

import pytest

from noiselimit.data.cifar import CIFAR10
from noiselimit.errors import InputError
from noiselimit.noise.kinds import parse_noise
from noiselimit.reproduce.paper import paper_cells, paper_figure
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.studies import STUDIES, Cell, chosen_cells, run_noise, wrong_share
from noiselimit.reproduce.work import all_tasks


def test_all_numbers_of_the_paper_are_there_and_each_is_a_cell_of_a_table():
    assert len(paper_cells()) == 228
    assert sum(len(study.cells) for study in STUDIES.values()) == 228
    assert len(set(STUDIES["mnist"].cells)) == 11 * 4 * 3


def test_a_number_is_found_by_its_place():
    found = paper_figure("mnist", "uniform", 0.8, 48_000, "limit-l")
    assert found is not None
    assert (found.accuracy, found.std, found.table) == (97.7, 0.2, "tab:mnist-with-error-bars-2")
    assert paper_figure("clothing1m", "real", None, None, "dmi").accuracy == 71.19
    assert paper_figure("mnist", "uniform", 0.8, 48_000, "limit-l+init") is None


@pytest.mark.parametrize(
    ("method", "values"),
    [
        ("ce", 1),
        ("mae", 1),
        ("fw", 1),
        ("dmi", 4),
        ("ce-gn", 4),
        ("soft-penalty", 20),
        ("limit-g+s", 32),
        ("limit-l", 8),
    ],
)
def test_a_cell_takes_its_whole_grid_for_every_seed(method, values):
    specs = Cell("mnist", "uniform", 0.5, 10_000, method).specs([0, 1, 2])
    assert len({spec.key for spec in specs}) == 3 * values
    assert {(spec.epochs, spec.patience, spec.batch_size, spec.train_size) for spec in specs} == {
        (400, 100, 256, 10_000)
    }


def test_the_first_runs_of_the_tables_are_as_many_as_the_issue_says():
    methods = ["ce", "mae", "fw", "dmi", "limit-g", "limit-l"]
    cells = chosen_cells(STUDIES["mnist"], methods)
    assert len(all_tasks(cells, range(3), protocol_for("mnist"))) == 828


def test_without_noise_one_run_serves_both_tables():
    cells = [Cell("cifar10", noise, 0.0, 40_000, "limit-l") for noise in ("uniform", "pair")]
    assert len(all_tasks(cells, [0], protocol_for("cifar10"))) == 8


def test_a_quick_trial_has_the_same_cells_on_digits():
    protocol = protocol_for("cifar10", quick=True)
    cell = Cell("cifar10", "pair", 0.4, 40_000, "limit-l")
    assert protocol.source == "digits"
    assert run_noise(cell, quick=True).startswith("pair:1>7:0.4;")
    assert len(cell.specs([0], protocol)) == 2


@pytest.mark.parametrize(
    ("problem", "found"),
    [
        ("uniform", 12),
        ("uniform/1000", 4),
        ("uniform:0.8", 3),
        ("uniform:.8", 3),
        ("uniform:8e-1", 3),
        ("uniform:0", 3),
        ("uniform:0.80/1000", 1),
    ],
)
def test_cells_are_chosen_by_noise_share_and_size(problem, found):
    assert len(chosen_cells(STUDIES["mnist"], ["ce"], [problem])) == found


@pytest.mark.parametrize(
    "problem",
    ["uni", "pair", "uniform:", "uniform:x", "uniform:0.81", "uniform/100", "uniform:0.8/1000/1"],
)
def test_what_is_no_problem_is_refused_and_the_problems_are_named(problem):
    with pytest.raises(InputError, match=r"has no cell '.*': give some of uniform:0/1000, "):
        chosen_cells(STUDIES["mnist"], None, [problem])


@pytest.mark.parametrize("problem", ["real:", "real:nan", "real:0", "real/1000"])
def test_real_noise_has_no_share(problem):
    assert len(chosen_cells(STUDIES["clothing1m"], ["ce"], ["real"])) == 1
    with pytest.raises(InputError, match="give some of real"):
        chosen_cells(STUDIES["clothing1m"], None, [problem])


def test_cells_of_several_noises_are_told_apart():
    study = STUDIES["cifar10"]
    assert {cell.problem for cell in chosen_cells(study, None, ["pair:0.4"])} == {"pair:0.4/40000"}
    assert len(chosen_cells(study, ["ce"], ["uniform:0.4/40000"])) == 1
    with pytest.raises(InputError, match=r"has no cell 'uniform:0\.41'"):
        chosen_cells(study, None, ["uniform:0.41"])
    with pytest.raises(InputError, match="limit-x"):
        chosen_cells(study, ["limit-x"])


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("noise", ["uniform", "pair"])
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_the_share_of_wrong_labels_is_that_of_the_noise(noise, p, quick):
    names = tuple("0123456789") if quick else CIFAR10.class_names
    cell = Cell("cifar10", noise, p, 40_000, "ce")
    kept = parse_noise(run_noise(cell, quick=quick)).transition(names).diagonal().mean()
    assert wrong_share(cell) == pytest.approx(1 - kept)


def test_the_share_of_wrong_labels_is_not_known_of_real_noise():
    assert wrong_share(Cell("clothing1m", "real", None, None, "ce")) is None
