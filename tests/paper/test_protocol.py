"""The protocol is the paper's."""

import pytest

from paper.figures import FIGURES
from paper.protocol import PROTOCOLS, Cell, make_tasks, protocol_for
from paper.tables import PAPER, TABLES, choose_cells, table_tasks, with_values


def test_the_paper_prints_228_numbers() -> None:
    assert len(PAPER) == 228
    assert [len(TABLES[name]) for name in ("mnist", "cifar10", "cifar100", "clothing1m")] == [132, 80, 8, 8]
    assert PAPER[Cell("mnist", "uniform", 0.8, 48_000, "limit-l")] == (97.7, 0.2)


@pytest.mark.parametrize(
    ("data", "network", "epochs", "augmentation", "seeds", "runs"),
    [
        ("mnist", "mnist-cnn", 400, "none", 5, 6900),
        ("cifar10", "resnet-34", 400, "flip-crop", 1, 351),
        ("cifar100", "resnet-34", 400, "flip-crop", 1, 39),
        ("clothing1m", "resnet-50", 30, "flip-crop", 1, 39),
    ],
)
def test_protocols(data: str, network: str, epochs: int, augmentation: str, seeds: int, runs: int) -> None:
    protocol = PROTOCOLS[data]
    found = (protocol.network, protocol.epochs, protocol.augmentation, protocol.seeds)
    assert found == (network, epochs, augmentation, seeds)
    assert (protocol.patience, protocol.batch_size, protocol.learning_rate) == (100, 256, 1e-3)
    assert len(table_tasks(TABLES[data], range(seeds), protocol)) == runs


def test_a_task_says_how_its_run_is_trained() -> None:
    task = make_tasks(Cell("cifar10", "pair", 0.4, 40_000, "dmi"), [3], PROTOCOLS["cifar10"])[1]
    assert task.hyper == "learning_rate=0.0001"
    assert (task.spec.seed, task.spec.learning_rate, task.spec.train_size) == (3, 1e-4, None)
    assert task.setting == "cifar10,pair,0.4,40000,dmi,learning_rate=0.0001,100,resnet-34,no"
    noiseless = {
        make_tasks(Cell("cifar10", noise, 0.0, 40_000, "ce"), [0], PROTOCOLS["cifar10"])[0].setting
        for noise in ("uniform", "pair")
    }
    assert len(noiseless) == 1, "without noise one run serves both tables"


def test_fewer_epochs_leave_the_parents_theirs() -> None:
    short = protocol_for("mnist", epochs=15)
    assert (short.epochs, short.parent_epochs, short.full_epochs) == (15, 400, 400)


@pytest.mark.parametrize(("kind", "optimiser", "rate"), [("short", "adam", 1e-3), ("short-sgd", "sgd", 0.05)])
def test_short_runs_are_trained_to_the_end_the_most_telling_first(
    kind: str, optimiser: str, rate: float
) -> None:
    short = protocol_for("cifar10", kind)
    tasks = table_tasks(TABLES["cifar10"], [0], short)
    assert (len(tasks), short.file) == (126, f"cifar10-{kind}")
    assert {(each.spec.epochs, each.spec.patience, each.spec.schedule) for each in tasks} == {
        (40, 40, "cosine")
    }
    assert {(each.spec.optimiser, each.spec.parent_learning_rate) for each in tasks} == {(optimiser, rate)}
    assert {each.cell.problem for each in tasks[:26]} == {"uniform:0.4/40000", "pair:0.4/40000"}
    assert [each.hyper for each in tasks[:5]] == ["", "", "", "learning_rate=1e-05", "beta=10"]
    assert {each.hyper for each in tasks[-9:]} == {"beta=30"}
    assert len(table_tasks(TABLES["cifar100"], [0], protocol_for("cifar100", kind))) == 14


def test_quick_runs_are_on_digits_and_have_settings_of_their_own() -> None:
    quick = protocol_for("cifar10", quick=True)
    assert (quick.source, quick.epochs, quick.seeds) == ("digits", 3, 1)
    task = make_tasks(Cell("cifar10", "pair", 0.4, 40_000, "limit-l"), [0], quick)[0]
    assert task.setting.endswith(",yes")
    assert len(table_tasks(TABLES["mnist"], [0], protocol_for("mnist", quick=True))) == 204


def test_cells_and_values_are_chosen() -> None:
    cells = choose_cells("mnist", ["limit-l"], ["uniform:0.8/10000", "uniform:0.5"])
    assert [(cell.p, cell.n) for cell in cells] == [(0.5, 1000), (0.5, 10_000), (0.5, 48_000), (0.8, 10_000)]
    tasks = table_tasks(cells[:1], [0], PROTOCOLS["mnist"])
    assert [task.hyper for task in with_values(tasks, ["beta=10", "beta=30"])] == ["beta=10", "beta=30"]


def test_figures_and_what_they_train() -> None:
    runs = {name: len(each.tasks(each.protocol())) for name, each in FIGURES.items() if each.cells}
    assert (runs["memorisation"], runs["learning-curves"], runs["beta-sweep"]) == (15, 23, 16)
    assert runs["histograms-cifar100"] == runs["suspicious-clothing1m"] == 8
    assert runs["learning-curves-cifar10-pair"] == 39
    first = FIGURES["histograms-cifar10-pair"].cells[0]
    assert first.method == "limit-l+init", "the best of the paper"
