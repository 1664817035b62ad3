"""Which rows are measured where, against which figures; ratios; the best K."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from noiselimit.bench import epoch_rows, ratio_rows
from noiselimit.bench.effort import FULL_CUDA, QUICK_CPU, effort_for
from noiselimit.bench.ratio_rows import digits_cohort, digits_step, in_turn
from noiselimit.bench.rows import FIGURES, ROWS, Figures, chosen_rows, figures_for
from noiselimit.bench.session import Session
from noiselimit.bench.work import Way
from noiselimit.errors import InputError

CPU = Session(torch.device("cpu"), 2, QUICK_CPU)


def test_usual_rows_of_a_device():
    assert chosen_rows(None, "cuda") == ["mnist-cohort", "mnist-one", "cifar-limit", "cifar-ce", "set-up"]
    assert chosen_rows(None, "cpu") == ["digits-cohort", "digits-step", "set-up"]


def test_rows_can_be_named_in_any_order():
    assert chosen_rows(["set-up", "mnist-one"], "cpu") == ["mnist-one", "set-up"]
    assert chosen_rows(["none"], "cpu") == []
    with pytest.raises(InputError, match="did you mean 'mnist-one'"):
        chosen_rows(["mnist-on"], "cpu")
    with pytest.raises(InputError, match="--device cpu"):
        chosen_rows(["digits-step"], "cuda")
    with pytest.raises(InputError, match="rows is 'none,digits-step': none stands alone"):
        chosen_rows(["none", "digits-step"], "cpu")


def test_figures_hold_only_for_their_device_and_size():
    gpu = Session(torch.device("cuda"), 2, FULL_CUDA)
    assert figures_for("mnist-cohort", gpu) == Figures(2.6, 0.012)
    assert figures_for("mnist-cohort", CPU) == Figures()
    full_cpu = Session(torch.device("cpu"), 2, effort_for("cpu", quick=False))
    assert figures_for("digits-step", full_cpu).aim == 2.3
    assert figures_for("set-up-cold", full_cpu) == Figures()
    assert figures_for("digits-step", CPU) == Figures()
    assert {name.removesuffix("-cold").removesuffix("-warm") for name in FIGURES} == set(ROWS)


def test_full_measurements_repeat_enough():
    for device in ("cuda", "cpu"):
        effort = effort_for(device, quick=False)
        assert effort.warm_up == 2
        assert effort.epochs["mnist"] >= 5
        assert effort.epochs["cifar10"] >= 3
        assert effort.examples == {"mnist": 60_000, "cifar10": 50_000}


def test_the_best_k_of_a_gpu_is_looked_for_where_it_may_be():
    assert effort_for("cuda", quick=False).cohort_sizes == (64, 128, 256)


def test_ways_take_turns_and_the_first_round_does_not_count():
    said: list[str] = []
    shares: list[float] = []

    def way(name):
        return lambda: said.append(name) or len(said)

    results = in_turn({"a": way("a"), "b": way("b")}, 2, shares.append)
    assert said == ["a", "b", "b", "a", "a", "b"]
    assert results == {"a": [4, 5], "b": [3, 6]}
    assert shares == sorted(shares)
    assert shares[-1] == 1


def fake_timed(work, runs, seconds, whole):
    return ratio_rows.Timed(work, runs, 100, 10, 10, (seconds,) * 2, 0, 1, None, None, whole)


def test_a_cohort_is_held_against_the_better_way_one_after_another(monkeypatch):
    def fake(work, data, runs, *, threads_per_block, **_):
        return fake_timed(work, runs, 0.5, 5.0 if runs == 8 else (2.0 if threads_per_block == 1 else 1.0))

    monkeypatch.setattr(ratio_rows, "time_training", fake)
    (entry,) = digits_cohort(CPU, lambda share: None)
    assert entry["ratio"] == 5.0 / 8.0
    assert list(entry["medians_of"].values()) == [5.0, 16.0, 8.0]
    assert entry["seconds"] == 5.0 / 8 / QUICK_CPU.epochs["digits"]
    assert [len(values) for values in entry["seconds_of"].values()] == [QUICK_CPU.repeats] * 3
    (alone,) = digits_cohort(Session(torch.device("cpu"), 1, QUICK_CPU), lambda share: None)
    assert len(alone["seconds_of"]) == 2


def test_a_step_is_the_ratio_of_median_epochs(monkeypatch):
    def fake(work, data, runs, *, threads, **_):
        assert threads == 1
        return fake_timed(work, runs, 0.2 if work.method == "ce" else 0.5, 1.0)

    monkeypatch.setattr(ratio_rows, "time_training", fake)
    (entry,) = digits_step(CPU, lambda share: None)
    assert entry["ratio"] == 2.5
    assert entry["seconds"] == 0.5


def test_the_best_k_counts_and_one_that_fails_does_not():
    seconds = {1: 3.0, 2: 4.0}

    def fake(work, runs, *, tell):
        if runs == 4:
            raise RuntimeError("out of memory")
        return fake_timed(work, runs, seconds[runs], 1.0)

    session = SimpleNamespace(
        effort=SimpleNamespace(cohort_sizes=(1, 2, 4)),
        time=fake,
        cost=CPU.cost,
    )
    (entry,) = epoch_rows.mnist_cohort(session, lambda share: None)
    assert (entry["k"], entry["seconds"], len(entry["tried"])) == (2, 2.0, 2)
    assert entry["run_epochs_per_second"] == 0.5
    assert entry["failures"] == ["K = 4: out of memory"]


@pytest.mark.parametrize(("row", "trainings"), [(digits_cohort, 2 * (1 + 1 + 1)), (digits_step, 2 * 2)])
def test_ratios_are_of_the_way_of_the_session(row, trainings, train_spy):
    way = Way("bfloat16", "off", "on")
    little = replace(QUICK_CPU, repeats=1, digits_runs=1)
    row(Session(torch.device("cpu"), 2, little, way), lambda share: None)
    assert train_spy.ways == [way] * trainings
