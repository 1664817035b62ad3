"""The documents say what the result files say, and every command and snippet in them runs."""

import importlib.util
import json
import re
import shlex
import subprocess
from pathlib import Path
from statistics import fmean
from types import ModuleType

import pytest

from noiselimit.cli.main import run
from noiselimit.information import least_information
from noiselimit.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def fenced(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def with_fences(language: str) -> list[Path]:
    return [document for document in DOCUMENTS if fenced(document, language)]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("--no-dmeo", 2)])
def test_help_and_misspelled_options_measure_nothing(
    generate: ModuleType, monkeypatch: pytest.MonkeyPatch, argument: str, code: int
) -> None:
    for name in ("measure", "blocks", "documents"):
        monkeypatch.setattr(generate, name, lambda name=name: pytest.fail(f"{name} was called"))
    with pytest.raises(SystemExit) as ended:
        generate.main([argument])
    assert ended.value.code == code


def test_figures_come_from_the_results(generate: ModuleType) -> None:
    content = generate.blocks()
    used = set()
    for path in generate.documents():
        text = path.read_text("utf-8")
        assert generate.filled(text, content) == text, f"{path.name} is stale: run make docs"
        used |= {name for name, block in content.items() if block in text}
    assert used == set(content)


def test_results_keep_the_demos_promise(generate: ModuleType) -> None:
    """The published figures themselves; `tests/test_demo.py` trains anew."""
    results = json.loads(generate.RESULTS.read_text("utf-8"))
    assert results["seconds"] < 60
    assert {"noiselimit", "torch", "numpy", "python"} <= results["versions"].keys()
    assert {line["seed"] for line in results["runs"]} == set(results["seeds"])
    chosen = [line for line in results["runs"] if line["chosen"]]
    assert fmean(line["test_accuracy"] for line in chosen) >= 0.95
    assert fmean(line["gap_auc"] for line in chosen) >= 0.995


def test_the_table_of_methods_is_whole_and_limit_l_leads(generate: ModuleType) -> None:
    """Every method is there; of the paper's methods without a start from CE, LIMIT-L is the best."""
    methods = generate.measure_methods
    results = json.loads(methods.TABLE.read_text("utf-8"))
    accuracy = {
        name: fmean(line["test_accuracy"] for line in results["runs"] if line["method"] == name)
        for name in METHODS
    }
    assert set(methods.SEARCHED) == set(METHODS)
    assert max(accuracy, key=lambda name: accuracy[name]) in ("limit-l", "limit-l+init")
    assert accuracy["limit-l"] == max(value for name, value in accuracy.items() if "init" not in name)
    chosen = methods.chosen_settings(json.loads(methods.GRID.read_text("utf-8")))
    assert all(line["setting"] == chosen[line["method"]] for line in results["runs"])


def test_cross_entropy_memorises_bits_and_limit_does_not(generate: ModuleType) -> None:
    """The published trainings with 80 % noise, after 100 epochs, every seed."""
    information = generate.measure_information
    results = information.stored()
    assert results["problem"]["noise"] == "uniform:0.8"
    for line in results["runs"]:
        if line["chosen"]:
            assert {len(curve) for curve in line["epochs"].values()} == {100}
            assert line["epochs"]["memorised_bits"][-1] == pytest.approx(line["memorised_bits"], abs=1e-4)
    bits = {
        name: [line["memorised_bits"] for line in information.chosen_runs(results, name)]
        for name in information.TRAININGS
    }
    assert all(len(values) == len(results["seeds"]) for values in bits.values())
    assert min(bits["cross-entropy"]) > 2
    assert max(bits["LIMIT-L"]) < 0.1


def test_published_bits_follow_from_the_published_training_accuracy(generate: ModuleType) -> None:
    results = generate.measure_information.stored()
    for line in results["runs"]:
        implied = least_information(results["noise_entropy"], 1 - line["last_train_accuracy"], 10)
        assert line["memorised_bits"] == pytest.approx(implied)


def test_figures_are_drawn_from_the_results(generate: ModuleType) -> None:
    information = generate.measure_information
    drawn = information.memorisation_chart(information.stored())
    assert information.MEMORISATION.read_text("utf-8") == drawn, "memorisation.svg is stale: run make docs"
    assert information.FANO.read_text("utf-8") == information.fano_figure()


@pytest.mark.parametrize("document", with_fences("sh"), ids=lambda path: path.name)
@pytest.mark.filterwarnings("always::noiselimit.errors.Notice")  # quick trials are said to be such
@pytest.mark.slow
def test_commands_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in an empty folder. The demo itself is trained by `tests/test_demo.py`."""
    monkeypatch.chdir(tmp_path)
    for line in "".join(fenced(document, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            recipe = subprocess.run(
                ["make", "-n", *words[1:]], cwd=ROOT, check=True, capture_output=True, text=True
            )
            assert recipe.stdout
        elif words[:2] != ["noiselimit", "demo"]:
            assert words[0] == "noiselimit"
            arguments = [
                found
                for word in words[1:]
                for found in (map(str, Path().glob(word)) if "*" in word else [word])
            ]
            assert run([*arguments, "--json"]) == 0, line


@pytest.mark.parametrize("document", with_fences("python"), ids=lambda path: path.name)
@pytest.mark.slow
def test_snippets_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for snippet in fenced(document, "python"):
        exec(compile(snippet, str(document), "exec"), {})


def test_configurations_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (text,) = (snippet for document in with_fences("toml") for snippet in fenced(document, "toml"))
    Path("grid.toml").write_text(text)
    assert run(["train", "--config", "grid.toml", "--epochs", "1", "--train-size", "64", "--quiet"]) == 0
    assert len(list(Path("runs").glob("*/spec.json"))) == 3


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text("utf-8")):
        if not target.startswith("https://"):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_quoted_method_is_the_real_one() -> None:
    quoted = fenced(ROOT / "CONTRIBUTING.md", "python")[0]
    real = (ROOT / "src" / "noiselimit" / "methods" / "ce.py").read_text("utf-8")
    assert quoted.strip() in real
