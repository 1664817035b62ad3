"""Which of the runs that train alone comes next, by what is known already."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noiselimit.reproduce.cohorts import plan_cohorts
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.studies import STUDIES, chosen_cells
from noiselimit.reproduce.turns import VALUES_AT_A_TIME, values_behind
from noiselimit.reproduce.work import all_tasks, missing_tasks, tasks_with

CIFAR = protocol_for("cifar10")
EXAMPLES = 10_000
AT_FORTY = all_tasks(chosen_cells(STUDIES["cifar10"], None, ["uniform:0.4", "pair:0.4"]), [0, 1], CIFAR)


@pytest.fixture
def make_resnet(make_row):
    """A row of LIMIT-G + init on CIFAR-10 with 40 % uniform noise."""
    usual = {"data": "cifar10", "p": 0.4, "n": 40_000, "method": "limit-g+init", "network": "resnet-34"}
    return lambda **changes: make_row(**usual | changes)


def row_of_task(task, row, **changes):
    cell = task.cell
    place = {"noise": cell.row_noise, "p": cell.p, "n": cell.n, "method": cell.method, "hyper": task.hyper}
    return replace(row, **place, seed=task.spec.seed, **changes)


def planned(tasks, rows):
    missing = missing_tasks(tasks, rows, CIFAR)
    return [cohort.tasks[0] for cohort in plan_cohorts(missing, rows, CIFAR, None)]


def screen(make_resnet, epochs, accuracies):
    way = {"epochs": epochs, "epochs_run": epochs, "best_epoch": epochs}
    return [
        make_resnet(hyper=f"beta={beta:g}", validation_accuracy=share, **way)
        for beta, share in accuracies.items()
    ]


def test_what_a_larger_value_clearly_beat_in_as_many_epochs_is_behind(make_resnet):
    rows = screen(make_resnet, 8, {0: 0.449, 0.3: 0.4697, 1: 0.48, 3: 0.4813})
    assert values_behind(rows, EXAMPLES) == {"beta=0", "beta=0.3"}
    assert values_behind(rows, EXAMPLES // 100) == set()  # of few examples that is chance


def test_a_short_screen_says_nothing_against_larger_values_than_those_that_lead(make_resnet):
    rows = screen(make_resnet, 8, {3: 0.4813, 10: 0.4055, 30: 0.2653, 100: 0.1647})
    assert values_behind(rows, EXAMPLES) == set()
    long = make_resnet(hyper="beta=30", validation_accuracy=0.5475, epochs_run=400, best_epoch=385)
    assert values_behind([*rows, long], EXAMPLES) == set(), "others had eight epochs"


def test_a_longer_run_of_another_counts_from_the_epoch_in_which_it_was_best(make_resnet):
    of_dmi = {"method": "dmi", "best_epoch": 1}
    poor = make_resnet(hyper="learning_rate=0.001", epochs=22, epochs_run=22, validation_accuracy=0.1275)
    poor = replace(poor, **of_dmi)
    good = make_resnet(hyper="learning_rate=0.0001", epochs_run=101, validation_accuracy=0.5084, **of_dmi)
    assert values_behind([poor, good], EXAMPLES) == {"learning_rate=0.001"}
    assert values_behind([poor, replace(good, best_epoch=23)], EXAMPLES) == set()
    assert values_behind([poor, replace(good, seed=1)], EXAMPLES) == set(), "another split"


def test_a_value_that_caught_up_later_is_not_behind(make_resnet):
    rows = screen(make_resnet, 8, {1: 0.40, 3: 0.48}) + screen(make_resnet, 24, {1: 0.51, 3: 0.512})
    assert values_behind(rows, EXAMPLES) == set()


def test_empty_cells_get_a_value_before_those_that_have_one_get_more(make_resnet):
    done = [task for task in AT_FORTY if task.spec.seed == 0 and not task.cell.method.startswith("limit")]
    begun = [task for task in AT_FORTY if task.cell.method == "limit-g+init" and task.hyper == "beta=10"][:1]
    rows = [row_of_task(task, make_resnet()) for task in [*done, *begun]]
    first = planned([task for task in AT_FORTY if task.spec.seed == 0], rows)
    limits = 2 * 4
    assert {task.hyper for task in first[: limits - 1]} == {"beta=10"}
    assert [task.hyper for task in first[limits - 1 :][: 2 * limits]] == ["beta=3"] * 8 + ["beta=30"] * 8


def test_what_is_behind_comes_last_of_all(make_resnet):
    rows = screen(make_resnet, 8, {0: 0.2, 0.1: 0.2, 10: 0.45})
    order = planned(AT_FORTY, rows)
    behind = {("uniform", "limit-g+init", f"beta={beta}", seed) for beta in ("0", "0.1") for seed in (0, 1)}
    assert {(t.cell.noise, t.cell.method, t.hyper, t.spec.seed) for t in order[-4:]} == behind


def test_where_only_unlikely_values_are_asked_for_empty_cells_come_first_too(make_resnet):
    cells = chosen_cells(STUDIES["cifar10"], ["limit-g", "limit-g+init"], ["uniform:0.4"])
    asked = tasks_with(all_tasks(cells, [0], CIFAR), ["beta=100", "beta=1"])
    order = [(task.cell.method, task.hyper) for task in planned(asked, [make_resnet(hyper="beta=30")])]
    assert order[:2] == [("limit-g", "beta=100"), ("limit-g+init", "beta=100")]


ANY_DONE = st.sets(st.integers(0, len(AT_FORTY) - 1))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(done=ANY_DONE, count=st.integers(1, 12))
def test_a_call_that_goes_on_does_what_one_call_would_have_done(make_resnet, done, count):
    rows = [row_of_task(AT_FORTY[at], make_resnet()) for at in done]  # equally good, so that none is behind
    order = planned(AT_FORTY, rows)
    more = [row_of_task(task, make_resnet()) for task in order[:count]]
    assert planned(AT_FORTY, [*rows, *more]) == order[count:]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(done=ANY_DONE)
def test_no_cell_gets_more_than_a_few_values_while_another_has_fewer(make_resnet, done):
    rows = [row_of_task(AT_FORTY[at], make_resnet()) for at in done]
    have = Counter((AT_FORTY[at].cell, AT_FORTY[at].spec.seed) for at in done)
    rounds = []
    for task in planned(AT_FORTY, rows):
        rounds.append(have[task.cell, task.spec.seed] // VALUES_AT_A_TIME)
        have[task.cell, task.spec.seed] += 1
    assert rounds == sorted(rounds)
    assert len(rounds) == len(AT_FORTY) - len(done)
