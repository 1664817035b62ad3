"""Rows one after another: kept, gone on with, refused where they would not compare."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from noiselimit.bench.detection import comparison, methods, probabilities
from noiselimit.bench.detection.comparison import compare_detection
from noiselimit.bench.detection.how import How
from noiselimit.bench.detection.methods import TRAINED
from noiselimit.bench.detection.probabilities import score_saved
from noiselimit.bench.detection.problem import Problem, load_problem
from noiselimit.bench.detection.result import read_detection
from noiselimit.bench.detection.stage import train_stage
from noiselimit.bench.detection.trainings import TRAININGS
from noiselimit.bench.detection.wanted import Wanted
from noiselimit.errors import InputError

HOW = How(epochs=2, device="cpu", threads=1)
PROBLEMS = tuple(Problem("digits", "uniform:0.2", seed, 200) for seed in (0, 1))
WANTED = Wanted(PROBLEMS, HOW)
OUT = Path("detection.json")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_tool_has_its_figures(trained: list[tuple[str, str]]) -> None:
    heard = []
    content = compare_detection(WANTED, OUT, tell=lambda label, share: heard.append(share))
    assert content == json.loads(OUT.read_text())
    assert content["finished"]
    assert [row["problem"]["seed"] for row in content["rows"]] == [0, 1]
    assert trained == [(problem.name, training) for problem in PROBLEMS for training in TRAININGS]
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    row = content["rows"][0]
    assert row["methods"].keys() == TRAINED.keys()
    assert row["wrong"] == pytest.approx(load_problem(PROBLEMS[0]).wrong.mean())
    assert row["methods"]["ours-default"]["auroc"] == 1.0
    for part in ("seen", "held_out"):
        assert row["methods"]["ours-default"][f"auroc_{part}"] == 1.0
        assert 0 <= row["methods"]["ours-default"][f"recall_{part}"] <= 1
        assert 0 <= row["methods"]["ours-default"][f"false_positives_{part}"] <= 1
    assert row["methods"]["folds-averaged"]["auroc"] == 1.0
    assert "auroc_seen" not in row["methods"]["folds-averaged"]  # all are held out
    assert row["methods"]["aum-stopped"]["auroc"] == 1.0  # two good epochs, before a bad one
    assert row["methods"]["aum-last"]["auroc"] == 1.0
    assert row["methods"]["aum-last"]["f1"] is not None
    assert "f1" not in row["methods"]["cleanlab-self-confidence-last"]  # nobody to ask
    assert row["training"]["epochs"] == 2


def test_the_file_is_gone_on_with(trained: list[tuple[str, str]]) -> None:
    compare_detection(Wanted(PROBLEMS[:1], HOW), OUT)
    first = read_detection(OUT)["rows"][0]
    trained.clear()
    content = compare_detection(WANTED, OUT)
    assert {name for name, _ in trained} == {PROBLEMS[1].name}
    assert content["rows"][0] == first
    assert len(content["rows"]) == 2
    assert compare_detection(WANTED, OUT) == content


def test_a_failed_training_leaves_the_others_and_is_tried_again(
    trained: list[tuple[str, str]], failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = comparison.train_stage
    failing("plain")
    (row,) = compare_detection(Wanted(PROBLEMS[:1], HOW), OUT)["rows"]
    assert row["failures"] == {"plain": "out of memory"}
    assert row["methods"].keys() == {name for name, needed in TRAINED.items() if "plain" not in needed}
    monkeypatch.setattr(comparison, "train_stage", working)
    (row,) = compare_detection(Wanted(PROBLEMS[:1], HOW), OUT)["rows"]
    assert row["failures"] == {}
    assert row["methods"].keys() == TRAINED.keys()


def test_trainings_may_be_left_out(trained: list[tuple[str, str]]) -> None:
    wanted = Wanted(PROBLEMS[:1], HOW, without=("threshold", "plain"))
    (row,) = compare_detection(wanted, OUT)["rows"]
    assert {training for _, training in trained} == TRAININGS.keys() - {"threshold", "plain"}
    assert row["methods"]["aum-last"].keys() == {"auroc", "auprc"}
    assert "ce-loss-last" not in row["methods"]
    with pytest.raises(InputError, match="unknown training 'fold': did you mean 'folds'"):
        Wanted(PROBLEMS, HOW, without=("fold",))


def test_rows_that_would_not_compare_are_refused(trained: list[tuple[str, str]]) -> None:
    compare_detection(Wanted(PROBLEMS[:1], HOW), OUT)
    before = OUT.read_bytes()
    for how, name in (
        (dataclasses.replace(HOW, epochs=3), "epochs"),
        (dataclasses.replace(HOW, threads=2), "threads"),
        (dataclasses.replace(HOW, network="linear"), "network"),
    ):
        with pytest.raises(InputError, match=rf"detection.json, whose rows were measured with {name} "):
            compare_detection(Wanted(PROBLEMS, how), OUT)
    with pytest.raises(InputError, match=r"measured with quick False and not True: name another file\."):
        compare_detection(Wanted(PROBLEMS, HOW, quick=True), OUT)
    assert OUT.read_bytes() == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kind": "noiselimit bench"}'])
def test_other_files_are_left_alone(text: str, trained: list[tuple[str, str]]) -> None:
    OUT.write_text(text)
    with pytest.raises(InputError, match=r"detection.json holds no comparison: name one"):
        compare_detection(WANTED, OUT)
    assert OUT.read_text() == text
    assert not trained


def test_altered_files_are_told_of(trained: list[tuple[str, str]]) -> None:
    content = compare_detection(Wanted(PROBLEMS[:1], HOW), OUT)
    for change in ({"rows": 3}, {"rows": [{}]}, {"rows": [{**content["rows"][0], "methods": {"a": 1}}]}):
        OUT.write_text(json.dumps({**content, **change}))
        with pytest.raises(InputError, match="was altered: measure again"):
            read_detection(OUT)
    OUT.write_text(json.dumps({**content, "schema": 0}))
    with pytest.raises(InputError, match="another version"):
        read_detection(OUT)


def test_probabilities_are_scored_later(
    trained: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_detection(WANTED, OUT, Path("kept"))
    assert {path.name for path in Path("kept").iterdir()} == {f"{each.name}.npz" for each in PROBLEMS}
    with np.load(Path("kept") / f"{PROBLEMS[0].name}.npz") as arrays:
        assert arrays["folds_last"].dtype == np.float16
        assert arrays["folds_last"].shape == (200, 10)
    before = read_detection(OUT)
    with pytest.raises(
        InputError, match=r"score is kept, but cleanlab.* pip install 'noiselimit\[peers\]'\."
    ):
        score_saved(Path("kept"), OUT)
    monkeypatch.setattr(probabilities, "has_cleanlab", lambda: True)
    monkeypatch.setattr(
        methods, "cleanlab_issues", lambda given, said: (said.max(1) > np.inf, float(said[0, given[0]]))
    )
    content = score_saved(Path("kept"), OUT)
    assert content == read_detection(OUT)
    for row, old in zip(content["rows"], before["rows"], strict=True):
        entry = row["methods"]["cleanlab-normalized-margin-stopped"]
        assert entry["f1"] == 0.0
        assert 0.1 < entry["noise_rate"] < 0.7
        assert entry["auroc"] == old["methods"]["cleanlab-normalized-margin-stopped"]["auroc"]
        assert row["methods"]["ours-fast"] == old["methods"]["ours-fast"]
    with np.load(Path("kept") / f"{PROBLEMS[1].name}.npz") as saved:
        arrays = dict(saved)
    for change in (
        {"given": arrays["given"][1:]},
        {"given": arrays["given"] - 1},
        {"clean": arrays["clean"] + 0.5},
        {"clean": arrays["clean"][:, None]},
        {f"folds_{methods.WHEN[0]}": arrays[f"folds_{methods.WHEN[0]}"][:, :5]},
        {f"folds_{methods.WHEN[0]}": arrays[f"folds_{methods.WHEN[0]}"][1:]},
    ):
        np.savez(Path("kept") / f"{PROBLEMS[1].name}.npz", **{**arrays, **change})
        with pytest.raises(InputError, match=r"seed1.npz is damaged: measure its row again\."):
            score_saved(Path("kept"), OUT)
    (Path("kept") / f"{PROBLEMS[1].name}.npz").write_text("damaged")
    with pytest.raises(InputError, match=r"seed1.npz is damaged: measure its row again\."):
        score_saved(Path("kept"), OUT)
    with pytest.raises(InputError, match=r"seed0.npz is missing: name the folder"):
        score_saved(Path("elsewhere"), OUT)


def test_a_training_in_a_process_of_its_own_is_the_same() -> None:
    problem = PROBLEMS[0]
    labelled = load_problem(problem)
    found, took = train_stage("plain", problem, labelled, HOW)
    here = TRAININGS["plain"](labelled.data, problem.seed, HOW)
    assert found.keys() == here.keys()
    assert all(np.array_equal(found[name], here[name]) for name in here)
    assert took["seconds"] > 0
    assert took["peak_memory"] > 2**24
    with pytest.raises(RuntimeError, match="there is no such file or folder"):
        train_stage("plain", Problem("nowhere.npz", "none", 0), labelled, HOW)
