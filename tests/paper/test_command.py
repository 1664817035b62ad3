"""python -m paper: a quick run appends rows, resumes and skips; merge; bad input."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests_paper_rows import RESULTS, make_rows

import paper.execute
from paper.figures import FIGURES, draw
from paper.rows import append_rows, read_rows

Command = Callable[..., tuple[int, str, str]]
QUICK = ("--quick", "--cells", "uniform:0.8/1000", "--threads", "1", "--device", "cpu", "--out", "out")
RESULT = [
    "setting",
    "seed",
    "epochs_run",
    "best_epoch",
    "validation_accuracy",
    "validation_loss",
    "test_accuracy",
]


def test_a_quick_table_is_trained_once(command: Command) -> None:
    code, out, _ = command("run", "mnist", *QUICK, "--methods", "fw,limit-l", "--json", "--quiet")
    content = json.loads(out)
    assert (code, content["runs_trained"], content["runs_left"]) == (0, 3, 0)
    assert [cell["method"] for cell in content["cells"]] == ["fw", "limit-l"]
    assert {cell["meets"] for cell in content["cells"]} == {None}
    rows = read_rows(Path("out/mnist.csv"))
    assert sorted(rows["method"]) == ["ce", "fw", "limit-l", "limit-l"], "the CE run that fw starts from too"
    left = [path.name[:3] for path in Path("runs/reproduce/mnist-quick").glob("*-seed*")]
    assert left == ["ce-"], "only what others start from is kept"
    before = Path("out/mnist.csv").read_bytes()
    code, out, _ = command("run", "mnist", *QUICK, "--methods", "ce,fw,limit-l")
    assert (code, "0 runs trained" in out) == (0, True)
    assert Path("out/mnist.csv").read_bytes() == before
    assert "1 of 1 runs" in command("run", "mnist", *QUICK, "--methods", "mae", "--plan")[1]
    assert Path("out/mnist.csv").read_bytes() == before, "a plan trains nothing"


def test_a_run_whose_row_was_not_written_is_recorded_by_the_next_call(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    arguments = ("run", "mnist", *QUICK, "--methods", "mae", "--quiet")
    with monkeypatch.context() as patch:
        patch.setattr(paper.execute, "append_rows", die)
        code, _, err = command(*arguments)
    assert (code, "same command resumes" in err) == (130, True)
    assert not Path("out/mnist.csv").exists()
    assert command(*arguments)[0] == 0
    resumed = read_rows(Path("out/mnist.csv"))
    Path("out/mnist.csv").unlink()
    assert command(*arguments)[0] == 0
    assert resumed[RESULT].equals(read_rows(Path("out/mnist.csv"))[RESULT])


def test_a_figure_keeps_what_it_draws(command: Command) -> None:
    common = ("--quick", "--threads", "1", "--device", "cpu", "--out", "out", "--quiet")
    for name, file in (
        ("histograms-mnist", "histograms-mnist-quick.svg"),
        ("suspicious-mnist", "-quick-1.png"),
    ):
        code, out, _ = command("run", name, *common)
        assert (code, file in out, "0 left" in out) == (0, True, True)
        assert "0 runs trained" in command("run", name, *common)[1]


@pytest.mark.parametrize("name", FIGURES)
def test_committed_figures_are_drawn(name: str, tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    for path in (RESULTS / "figures").glob("*.csv"):
        (tmp_path / "figures" / path.name).write_bytes(path.read_bytes())
    drawn = draw(FIGURES[name], tmp_path)
    assert [path.suffix for path in drawn] == (
        [".svg"] if name == "fano" or (RESULTS / f"figures/{name}.svg").exists() else []
    )
    assert all("</svg>" in path.read_text() for path in drawn)


def test_merge_adds_what_is_not_there(command: Command) -> None:
    append_rows(Path("a/mnist.csv"), make_rows({"seed": 0, "commit": "here"}))
    append_rows(Path("b/mnist.csv"), make_rows({"seed": 0, "commit": "there"}, {"seed": 1}, {"seed": 1}))
    append_rows(Path("b/figures/curves.csv"), make_rows({}).assign(values="1 2/3 4"))
    code, out, _ = command("merge", "b", "--out", "a", "--json")
    assert (code, json.loads(out)) == (0, {"mnist.csv": 1, "figures/curves.csv": 1})
    assert read_rows(Path("a/mnist.csv"))["commit"].tolist() == ["here", ""]
    assert json.loads(command("merge", "b", "--out", "a", "--json")[1])["mnist.csv"] == 0
    append_rows(Path("quick/mnist.csv"), make_rows({"quick": True}))
    assert command("merge", "quick", "--out", "a")[0] == 2


def test_the_list(command: Command) -> None:
    code, out, _ = command("list", "--json", "--out", RESULTS)
    states = {state["name"]: state for state in json.loads(out)}
    assert (code, states["mnist"]["runs"], states["mnist"]["done"]) == (0, 6900, 3180)
    assert (states["cifar10"]["done"], states["memorisation"]["done"], states["fano"]["runs"]) == (14, 15, 0)
    assert "cifar100" in command("list", "--quick")[1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "mnis"), "did you mean 'mnist'"),
        (("run", "mnist", "--methods", "limit"), "unknown method"),
        (("run", "mnist", "--cells", "pair:0.4"), "has no cell"),
        (("run", "mnist", "--values", "beta=7"), "unknown value"),
        (("run", "mnist", "--seeds", "a"), "seeds is 'a'"),
        (("run", "mnist", "--epochs", "0"), "epochs"),
        (("run", "mnist", "--epochs", "500"), "epochs is 500"),
        (("run", "mnist", "--finalists", "2"), "run a screen first"),
        (("run", "mnist", "--budget-minutes", "-1"), "budget-minutes"),
        (("run", "fano", "--seeds", "1"), "is a figure"),
        (("run", "mnist", "--quiet"), "data folder"),
        (("merge", "nowhere"), "has no results"),
    ],
)
def test_bad_input(command: Command, arguments: tuple[str, ...], complaint: str) -> None:
    code, _, err = command(*arguments)
    assert code == 2
    assert complaint in err
    assert not list(Path().iterdir())
