"""One setting is chosen for every problem, by the mean validation accuracy over seeds."""

from noiselimit.noise import UniformNoise
from noiselimit.runs.run import DataInfo, Run
from noiselimit.runs.selection import choose
from noiselimit.runs.spec import RunSpec

INFO = DataInfo("d", ("a", "b"), (2,), (0.0,), (1.0,), 1.0)


def run(
    beta: float, seed: int, accuracy: float, loss: float = 1.0, status: str = "finished", p: float = 0
) -> Run:
    metrics = {"validation_accuracy": accuracy, "validation_loss": loss, "status": status}
    return Run(RunSpec("limit-l", {"beta": beta}, seed=seed, noise=UniformNoise(p)), INFO, [], metrics)


def test_the_mean_over_seeds_decides() -> None:
    runs = [run(1, 0, 0.9), run(1, 1, 0.5), run(3, 0, 0.8), run(3, 1, 0.7)]
    assert choose(runs) == [False, False, True, True]


def test_ties_go_to_the_lower_loss_then_to_the_first() -> None:
    assert choose([run(1, 0, 0.8, 2.0), run(3, 0, 0.8, 1.0)]) == [False, True]
    assert choose([run(1, 0, 0.8), run(3, 0, 0.8)]) == [True, False]


def test_a_failed_run_disqualifies_its_setting() -> None:
    assert choose([run(1, 0, 0.9, status="failed"), run(3, 0, 0.1)]) == [False, True]
    assert choose([run(1, 0, 0.9, status="failed")]) == [False]
    assert choose([]) == []


def test_every_problem_chooses_for_itself() -> None:
    runs = [run(1, 0, 0.9), run(3, 0, 0.8), run(1, 0, 0.2, p=0.8), run(3, 0, 0.3, p=0.8)]
    assert choose(runs) == [True, False, False, True]
