"""What is left to do, in which order, and how long it takes."""

import dataclasses
from pathlib import Path

import pytest

from noiselimit.errors import InputError
from noiselimit.reproduce.budget import in_budget, next_cohort
from noiselimit.reproduce.cohorts import Cohort, plan_cohorts
from noiselimit.reproduce.estimate import cohort_seconds, expected_epochs
from noiselimit.reproduce.figures.kept import kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.parents import place_of
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.speed import Load, find_speed
from noiselimit.reproduce.studies import STUDIES, chosen_cells
from noiselimit.reproduce.work import all_tasks, finalists, missing_tasks, tasks_with

RESULTS = Path(__file__).parents[2] / "results"
MNIST = protocol_for("mnist")


@pytest.fixture(scope="module")
def speed():
    return find_speed("cuda", [RESULTS])


def tasks_of(methods, problems=None, seeds=(0,)):
    return all_tasks(chosen_cells(STUDIES["mnist"], methods, problems), seeds, MNIST)


def load(method, n):
    return Load("mnist-cnn", (1, 28, 28), 10, method, n, 22_000)


def test_what_has_a_row_with_enough_epochs_is_not_missing(make_row):
    tasks = tasks_of(["limit-l"], ["uniform:0.8/48000"])
    assert len(missing_tasks(tasks, [], MNIST)) == 8
    left = missing_tasks(tasks, [make_row()], MNIST)
    assert "beta=10" not in {task.hyper for task in left}
    assert len(left) == 7
    screened = make_row(epochs=15, epochs_run=15)
    assert len(missing_tasks(tasks, [screened], MNIST)) == 8
    others = [make_row(quick=True), make_row(seed=1), make_row(patience=50), make_row(patience=200)]
    assert len(missing_tasks(tasks, others, MNIST)) == 8


def test_seed_after_seed_and_what_the_others_are_compared_with_first():
    cohorts = plan_cohorts(tasks_of(["ce", "limit-l", "ce-gn"], seeds=range(4)), [], MNIST, None)
    first = [cohort.tasks[0] for cohort in cohorts]
    order = [(task.cell.method == "ce-gn", task.spec.seed, task.cell.n) for task in first]
    sizes = (1000, 10_000, 48_000)
    expected = [(rest, seed, n) for rest in (False, True) for seed in range(3) for n in sizes]
    assert order == expected + [(rest, 3, n) for rest in (False, True) for n in sizes]
    assert all(cohort.seconds is None for cohort in cohorts)
    assert all(len({(task.cell.n, task.spec.seed) for task in cohort.tasks}) == 1 for cohort in cohorts)


def test_large_grids_have_cohorts_of_their_own(speed):
    cohorts = plan_cohorts(tasks_of(None, ["uniform:0.8/48000"]), [], MNIST, speed)
    assert [len(cohort.tasks) for cohort in cohorts] == [23, 8, 32, 32, 20]
    everything = plan_cohorts(tasks_of(None), [], MNIST, speed)
    assert max(cohort.seconds for cohort in everything) < 400  # none is too long for a call of ten minutes


def test_runs_of_large_networks_are_alone_and_forty_per_cent_comes_first():
    protocol = protocol_for("cifar10")
    cohorts = plan_cohorts(all_tasks(STUDIES["cifar10"].cells, [0], protocol), [], protocol, None)
    assert {len(cohort.tasks) for cohort in cohorts} == {1}
    first = [cohort.tasks[0].cell for cohort in cohorts]
    likely = 2 * (1 + 1 + 3 + 4 * 3)  # of CE, FW, DMI and four variants of LIMIT
    assert {cell.problem for cell in first[:likely]} == {"pair:0.4/40000", "uniform:0.4/40000"}
    methods = [cell.method for cell in first]
    assert methods.count("mae") == 9
    rest = methods[len(methods) - methods[::-1].index("mae") :]
    assert set(rest) == {"dmi", "limit-g", "limit-l", "limit-g+init", "limit-l+init"}, "unlikely values"


def test_on_cifar_the_targets_and_likely_values_come_first():
    protocol = protocol_for("cifar10")
    tasks = all_tasks(STUDIES["cifar10"].cells, [0], protocol)
    first = [cohort.tasks[0] for cohort in plan_cohorts(tasks, [], protocol, None)]
    assert [task.cell.method for task in first[:6]] == ["ce", "fw", "dmi"] * 2
    targets = [(task.cell.noise, task.cell.p, task.cell.method, task.hyper) for task in first[6:8]]
    assert targets == [("pair", 0.4, "limit-l+init", "beta=10"), ("uniform", 0.4, "limit-g+init", "beta=10")]
    betas = [task.spec.hyper["beta"] for task in first if task.cell == first[6].cell]
    assert betas == [10.0, 3.0, 30.0, 100.0, 1.0, 0.3, 0.1, 0.0]


def test_titles_name_the_methods(speed):
    cohorts = plan_cohorts(tasks_of(["limit-g+s", "limit-l+s"], ["uniform:0.8"]), [], MNIST, speed)
    assert cohorts[0].title == "mnist n = 1000, seed 0, 32 runs of limit-g+s"
    assert len({cohort.title for cohort in cohorts}) == len(cohorts) == 6


def test_a_cohort_does_not_count_on_ce_runs_of_one_that_is_skipped(speed):
    tasks = tasks_of(["ce", "fw"], ["uniform:0.8/48000"])
    with_ce = Cohort(tuple(tasks[:1]), cohort_seconds(tasks[:1], [], MNIST, speed))
    (child,) = plan_cohorts(tasks[1:], [], MNIST, speed, {place_of(tasks[0].spec)})
    assert child.parent_seconds == 0  # there is one
    whole = cohort_seconds(tasks[1:], [], MNIST, speed)
    counting = dataclasses.replace(child, parent_seconds=whole - child.seconds)
    assert counting.seconds_without([]) == child.seconds
    assert counting.seconds_without([with_ce]) == pytest.approx(whole)
    resnets = protocol_for("cifar10")
    cells = chosen_cells(STUDIES["cifar10"], ["ce", "fw"], ["uniform:0.4"])
    ce, fw = plan_cohorts(all_tasks(cells, [0], resnets), [], resnets, speed)
    assert fw.parent_seconds == pytest.approx(ce.seconds)
    time_for_one = 1.5 * max(ce.seconds, fw.seconds)
    assert next_cohort([fw], time_for_one) is fw
    slow = dataclasses.replace(ce, seconds=10 * ce.seconds)
    assert next_cohort([slow, fw], time_for_one, idle=False) is None


def test_what_fits_into_a_budget(speed):
    cohorts = plan_cohorts(tasks_of(["mae"], seeds=range(2)), [], MNIST, speed)
    assert in_budget(cohorts, 30.0) == {}
    assert in_budget(cohorts, 1e9) == dict.fromkeys(range(6), "whole")
    assert in_budget([dataclasses.replace(cohorts[0], seconds=1e3)], 100.0) == {0: "in part"}
    long = [dataclasses.replace(cohort, seconds=100.0) for cohort in cohorts]
    long[1] = dataclasses.replace(cohorts[1], seconds=500.0)
    assert in_budget(long, 240.0) == {0: "whole", 2: "whole"}


def test_values_choose_from_the_grids_that_have_them():
    tasks = tasks_of(["ce", "limit-l", "limit-l+s", "dmi"], ["uniform:0.8/48000"])
    of_grids = [task.hyper for task in tasks_with(tasks, ["beta=3", "beta=30", "sigma=0.1"])]
    rates = [f"learning_rate={rate}" for rate in ("0.001", "0.0001", "1e-05", "1e-06")]
    assert sorted(of_grids) == sorted(
        ["", *rates, "beta=3", "beta=30", "beta=3 sigma=0.1", "beta=30 sigma=0.1"]
    )
    assert len(tasks_with(tasks, ["sigma=0.1"])) == 1 + 4 + 8 + 8
    for spelled in ("beta=30.0", "beta=3e1", "beta= 30"):
        assert tasks_with(tasks, [spelled]) == tasks_with(tasks, ["beta=30"])
    with pytest.raises(InputError, match="values is given, but the methods asked for search nothing"):
        tasks_with(tasks_of(["ce"]), ["beta=3"])


@pytest.mark.parametrize("strange", ["beta=7", "beta=10.0000001", "beta=nan", "beta=", "beta"])
def test_a_value_that_no_grid_has_is_answered_by_those_that_there_are(strange):
    tasks = tasks_of(["limit-l", "dmi"], ["uniform:0.8/48000"])
    with pytest.raises(InputError) as caught:
        tasks_with(tasks, ["beta=3", strange])
    assert str(caught.value) == (
        f"unknown value of these grids '{strange}': choose one of beta=0, beta=0.1, beta=0.3, beta=1, "
        "beta=3, beta=10, beta=30, beta=100."
    )
    with pytest.raises(InputError, match=r"hyper-parameter of these grids 'bta': did you mean 'beta'\?"):
        tasks_with(tasks, ["bta=10"])


def test_finalists_are_the_best_so_far_of_each_cell(make_row):
    tasks = tasks_of(["limit-l", "ce"], ["uniform:0.8/48000"])
    rows = [
        make_row(hyper=f"beta={value}", epochs=15, epochs_run=15, validation_accuracy=accuracy)
        for value, accuracy in (("1", 0.15), ("10", 0.19), ("30", 0.18))
    ]
    chosen = finalists(tasks, rows, MNIST, 2)
    assert [task.hyper for task in chosen] == ["", "beta=10", "beta=30"]
    asked = tasks_with(tasks, ["beta=1", "beta=30", "beta=100"])
    assert [task.hyper for task in finalists(asked, rows, MNIST, 1)] == ["", "beta=30"]
    assert [task.hyper for task in finalists(tasks_with(tasks, ["beta=100"]), rows, MNIST, 1)] == [
        "",
        "beta=100",
    ]


def test_a_row_of_another_patience_makes_no_finalist(make_row):
    tasks = tasks_of(["limit-l"], ["uniform:0.8/48000"])
    short = {"epochs": 15, "epochs_run": 15}
    rows = [make_row(hyper=f"beta={value}", validation_accuracy=value / 100, **short) for value in (1, 3, 10)]
    other = make_row(hyper="beta=1", patience=50, validation_accuracy=0.9, **short)
    assert [task.hyper for task in finalists(tasks, [*rows, other], MNIST, 1)] == ["beta=10"]


def test_a_value_that_failed_is_no_finalist(make_row):
    tasks = tasks_of(["limit-l"], ["uniform:0.8/48000"])
    short = {"epochs": 15, "epochs_run": 15}
    rows = [
        make_row(hyper="beta=0", validation_accuracy=0.21, failure="not finite", **short),
        make_row(hyper="beta=1", validation_accuracy=0.20, **short),
        make_row(hyper="beta=3", validation_accuracy=0.19, **short),
        make_row(hyper="beta=10", validation_accuracy=0.18, **short),
    ]
    chosen = finalists(tasks, rows, MNIST, 2)
    assert [task.hyper for task in missing_tasks(chosen, rows, MNIST)] == ["beta=1", "beta=3"]


def test_measured_speeds_come_out_as_they_went_in(speed):
    assert speed.epoch_seconds(load("limit-l", 48_000), 256) == pytest.approx(0.0107, rel=0.02)
    assert speed.epoch_seconds(load("limit-l", 1000), 256) == pytest.approx(0.00106, rel=0.02)
    assert speed.epoch_seconds(load("limit-l", 48_000), 8) == pytest.approx(0.0196, rel=0.05)
    assert speed.epoch_seconds(load("ce", 48_000), 256) < 0.6 * speed.epoch_seconds(
        load("limit-l", 48_000), 256
    )
    resnet = Load("resnet-34", (3, 32, 32), 10, "limit-l", 40_000, 20_000)
    assert speed.epoch_seconds(resnet, 1) == pytest.approx(2.07, rel=0.02)


def test_evaluation_is_most_of_an_epoch_of_a_thousand_examples(speed):
    nothing, thousand = (speed.epoch_seconds(load("limit-l", n), 256) for n in (0, 1000))
    assert nothing > 0.5 * thousand


def test_a_network_that_was_not_measured_takes_time_by_its_operations(speed):
    small, large = (Load("resnet-50", (3, 224, 224), 14, "limit-l", n, 0) for n in (1000, 2000))
    assert speed.epoch_seconds(large, 1) == pytest.approx(2 * speed.epoch_seconds(small, 1))


def test_times_are_scaled_from_the_network_that_computes_about_as_much(speed):
    mlp = Load("mlp-4x512", (1, 28, 28), 10, "limit-l", 48_000, 22_000)
    resnet = Load("resnet-50", (3, 224, 224), 14, "ce", 800_000, 210_000)
    assert (speed.scaled_from(mlp), speed.scaled_from(resnet)) == ("mnist-cnn", "resnet-34")
    assert speed.scaled_from(load("ce", 1000)) is None


def test_the_estimate_for_networks_of_a_figure_is_what_they_took(speed):
    figure = FIGURES["memorisation"]
    kept = figure.shown(read_kept(kept_file(RESULTS / "reproduce", figure.kind)))
    took = sum(one.row.seconds for one in kept)
    protocol = figure.protocol()
    assert 0.5 < cohort_seconds(figure.tasks(protocol), [], protocol, speed) / took < 2


def test_runs_with_another_dropout_train_one_after_the_other(speed):
    one, other = tasks_of(["mae"], ["uniform:0.5/1000", "uniform:0.8/1000"])
    apart = dataclasses.replace(other, spec=dataclasses.replace(other.spec, dropout=0.5))
    each = cohort_seconds([one], [], MNIST, speed)
    assert cohort_seconds([one, apart], [], MNIST, speed) == pytest.approx(2 * each)
    assert cohort_seconds([one, other], [], MNIST, speed) < 1.8 * each


def test_what_children_start_from_is_counted_once(speed):
    def seconds(methods, trained=()):
        return cohort_seconds(tasks_of(methods, ["uniform:0.8/48000"]), [], MNIST, speed, trained)

    alone, with_ce, ce = seconds(["fw"]), seconds(["ce", "fw"]), seconds(["ce"])
    assert alone == pytest.approx(with_ce)
    spec = tasks_of(["ce"], ["uniform:0.8/48000"])[0].spec
    assert seconds(["fw"], {place_of(spec)}) == pytest.approx(with_ce - ce)


def test_a_screen_trains_whole_ce_runs_to_start_from(speed):
    short = protocol_for("mnist", epochs=15)
    cells = chosen_cells(STUDIES["mnist"], ["fw"], ["uniform:0.8/48000"])
    tasks = all_tasks(cells, [0], short)
    whole = cohort_seconds(tasks, [], short, speed)
    there = cohort_seconds(tasks, [], short, speed, {place_of(tasks[0].spec)})
    ce = cohort_seconds(tasks_of(["ce"], ["uniform:0.8/48000"]), [], MNIST, speed)
    assert whole - there == pytest.approx(ce)


def test_runs_that_are_left_alone_cost_more(speed, make_row):
    tasks = tasks_of(["limit-l"], ["uniform:0.8/48000"])
    even, uneven = (
        [make_row(epochs_run=epochs, seed=seed) for seed, epochs in enumerate(each)]
        for each in ((200, 200), (100, 300))
    )
    assert expected_epochs(tasks, uneven) == [100.0] * 4 + [300.0] * 4
    slower = cohort_seconds(tasks, uneven, MNIST, speed) / cohort_seconds(tasks, even, MNIST, speed)
    assert 1.05 < slower < 2


def test_how_soon_runs_stop_is_learned_from_rows(make_row):
    one = tasks_of(["limit-l"], ["uniform:0.8/48000"])[:1]
    assert expected_epochs(one, []) == [240]
    assert expected_epochs(one, [make_row(epochs_run=180), make_row(epochs_run=220)]) == [200]
    assert expected_epochs(one, [make_row(method="limit-g", epochs_run=130)]) == [130]
    assert expected_epochs(one, [make_row(method="ce", hyper="", epochs_run=130)]) == [240]
    assert expected_epochs(one, [make_row(epochs=150, epochs_run=140)]) == [140]
    assert expected_epochs(one, [make_row(epochs=150, epochs_run=150)]) == [240]
    assert expected_epochs(one, [make_row(n=1000, epochs_run=130)]) == [240]
    assert expected_epochs(one, [make_row(patience=50, epochs_run=60)]) == [240]


def test_times_of_another_device_are_said_to_be_that(speed):
    assert speed.words("NVIDIA H200") == ""
    assert "those of another device, NVIDIA H200, by its bench: NVIDIA A100 was" in speed.words("NVIDIA A100")


def test_a_device_without_a_bench_has_no_speed(tmp_path):
    assert find_speed("cuda", [tmp_path]) is None
