"""python -m paper: a quick run appends rows, resumes and skips; figures; bad input."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import paper.execute
from paper.__main__ import main
from paper.figures import FIGURES, draw
from paper.rows import read_rows
from tests.paper.rows import RESULTS

Command = Callable[..., tuple[int, str, str]]
COMMON = ("--quick", "--threads", "1", "--device", "cpu", "--out", "out")
QUICK = (*COMMON, "--cells", "uniform:0.8/1000")
RESULT = ["setting", "seed", "epochs_run", "best_epoch", "validation_accuracy", "test_accuracy"]


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Run one command line in an empty folder; exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOISELIMIT_DATA", raising=False)

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        return (int(ended.value.code or 0), *capsys.readouterr())

    return call


def test_help() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "paper", "--help"], cwd=RESULTS.parents[1], capture_output=True, text=True
    )
    assert (found.returncode, "run" in found.stdout) == (0, True)


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
    assert "1 left" in command("run", "mnist", *QUICK, "--methods", "mae", "--budget-minutes", "0.01")[1]
    assert Path("out/mnist.csv").read_bytes() == before, "no run starts shortly before the deadline"


def test_rows_of_a_short_protocol_are_apart(command: Command) -> None:
    code, out, _ = command(
        "run", "mnist", *QUICK, "--protocol", "short-sgd", "--methods", "mae", "--json", "--quiet"
    )
    assert (code, json.loads(out)["cells"][0]["epochs_run"]) == (0, [3])
    assert [path.name for path in Path("out").iterdir()] == ["mnist-short-sgd.csv"]


def test_a_run_whose_row_was_not_written_is_recorded_by_the_next_call(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    arguments = ("run", "mnist", *QUICK, "--methods", "mae", "--quiet")
    with monkeypatch.context() as patch:
        patch.setattr(paper.execute, "append_rows", die)
        assert command(*arguments)[0] == 130
    assert not Path("out/mnist.csv").exists()
    assert command(*arguments)[0] == 0
    resumed = read_rows(Path("out/mnist.csv"))
    Path("out/mnist.csv").unlink()
    assert command(*arguments)[0] == 0
    assert resumed[RESULT].equals(read_rows(Path("out/mnist.csv"))[RESULT])


@pytest.mark.parametrize(
    ("name", "file"), [("histograms-mnist", "-quick.svg"), ("suspicious-mnist", "-quick-1.png")]
)
def test_a_figure_keeps_what_it_draws(name: str, file: str, command: Command) -> None:
    code, out, _ = command("run", name, *COMMON, "--quiet")
    assert (code, f"{name}{file}" in out, "0 left" in out) == (0, True, True)
    assert "0 runs trained" in command("run", name, *COMMON, "--quiet")[1]


@pytest.mark.parametrize("name", FIGURES)
def test_committed_figures_are_drawn(name: str, tmp_path: Path) -> None:
    shutil.copytree(
        RESULTS / "figures", tmp_path / "figures", ignore=shutil.ignore_patterns("*.svg", "*.png")
    )
    drawn = draw(FIGURES[name], tmp_path)
    assert [path.suffix for path in drawn] == (
        [".svg"] if name == "fano" or (RESULTS / f"figures/{name}.svg").exists() else []
    )
    assert all("</svg>" in path.read_text() for path in drawn)


def test_the_list(command: Command) -> None:
    code, out, _ = command("list", "--json", "--out", RESULTS)
    states = {state["name"]: state for state in json.loads(out)}
    assert (code, states["mnist"]["runs"], states["mnist"]["done"]) == (0, 6900, 3180)
    assert (states["cifar10"]["done"], states["memorisation"]["done"], states["fano"]["runs"]) == (14, 15, 0)
    assert "cifar100" in command("list", "--quick")[1]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("run", "mnis"), "'mnist'"),
        (("run", "mnist", "--methods", "limit"), "method"),
        (("run", "mnist", "--cells", "pair:0.4"), "pair:0.4"),
        (("run", "mnist", "--values", "beta=7"), "beta=7"),
        (("run", "mnist", "--seeds", "a"), "seeds"),
        (("run", "mnist", "--epochs", "500"), "epochs"),
        (("run", "mnist", "--budget-minutes", "-1"), "budget-minutes"),
        (("run", "cifar10", "--protocol", "long"), "short-sgd"),
        (("run", "fano", "--protocol", "short"), "figure"),
        (("run", "fano", "--seeds", "1"), "figure"),
        (("run", "mnist", "--quiet"), "data"),
        (("run", "mnist", "--tasks", "2"), "engine"),
    ],
)
def test_bad_input(command: Command, arguments: tuple[str, ...], word: str) -> None:
    code, _, err = command(*arguments)
    assert code == 2
    assert word in err
    assert not list(Path().iterdir())
