"""Bad input: one sentence with the remedy, exit code 2, nothing printed, nothing written or changed."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import noiselimit
from noiselimit.errors import InputError

Prepare = Callable[[], object]
TRAIN = ("train", "--data", "table.npz", "--epochs", "1", "--out", "out")
AUDIT = ("audit", "t.csv", "--quiet", "--epochs", "1", "--fast")
PHOTOS = ("audit", "photos", "--quiet", "--fast")
PREDICT = ("predict", "run", "table.npz", "--out", "p.csv")
CONFIG = ("train", "--config", "c.toml", "--out", "out")
RESUME = ("train", "--resume", "out")
LABELS = np.arange(60) % 3


def nothing() -> None:
    """The good table is enough."""


def text(name: str, content: str | bytes = "") -> Prepare:
    def write() -> None:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def arrays(**changes: Any) -> Prepare:
    """Replace arrays of the good table, or drop them if None."""

    def write() -> None:
        with np.load("table.npz") as good:
            kept = {**good, **changes}
        np.savez("table.npz", **{name: value for name, value in kept.items() if value is not None})

    return write


def with_row(array: Any, row: int, value: float) -> Any:
    changed = array.astype(np.float64)
    changed[row] = value
    return changed


def csv(**changes: Any) -> Prepare:
    """Write t.csv with columns replaced, or dropped if None."""

    def write() -> None:
        numbers = np.random.default_rng(0).normal(size=(40, 2))
        columns = {"x": numbers[:, 0], "y": numbers[:, 1], "label": np.arange(40) % 2, **changes}
        kept = {name: value for name, value in columns.items() if value is not None}
        pd.DataFrame(kept).to_csv("t.csv", index=False)

    return write


def both(*several: Prepare) -> Prepare:
    return lambda: [one() for one in several]


def photos(bad: bytes | None = None) -> Prepare:
    def write() -> None:
        for row in range(12):
            Path("photos", "ab"[row % 2]).mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((4, 4), 9 * row, np.uint8)).save(f"photos/{'ab'[row % 2]}/{row}.png")
        if bad is not None:
            Path("photos/a/0.png").write_bytes(bad)

    return write


def run_value(name: str, **changes: Any) -> Prepare:
    """Replace values in a JSON file of the run."""

    def write() -> None:
        path = Path("run", name)
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return write


def cut(name: str) -> Prepare:
    return lambda: Path(name).write_bytes(Path(name).read_bytes()[: Path(name).stat().st_size // 3])


def folder(name: str) -> Prepare:
    return lambda: Path(name).mkdir(parents=True)


def saved(content: str | None = None, directory: str | None = None, **options: Any) -> Prepare:
    """Leave the options file of an interrupted training."""

    def write() -> None:
        typed = {"data": "table.npz", "epochs": "1", **options}
        note = {"format": 1, "folder": directory or str(Path.cwd()), "options": typed}
        text("out/.command.json", json.dumps(note) if content is None else content)()

    return write


class _Program:
    """A pickle that would call a function when it is loaded."""

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return print, ("this ran",)


COMMAND_LINES = [
    (nothing, ("tran",), "'train'"),
    (nothing, ("xyzzy",), "audit, bound, demo, export, noise, predict, show, train"),
    (nothing, (*TRAIN, "--bta", "1"), "'--beta'"),
    (nothing, ("--versoin",), "'--version'"),
    (nothing, ("train",), "'--data'"),
    (nothing, ("show",), "noiselimit show --help"),
    (nothing, (*TRAIN, "--beta"), "'--beta'"),
    (nothing, (*TRAIN, "extra"), "extra"),
    (nothing, ("train", "--data", "digts"), "'digits'"),
    (nothing, (*TRAIN, "--method", "limit-k"), "'limit-l'"),
    (nothing, (*TRAIN, "--noise", "unifrm:0.4"), "'uniform'"),
    (nothing, (*TRAIN, "--noise", "none,"), "--noise"),
    (nothing, (*TRAIN, "--network", "mpl"), "'mlp'"),
    (nothing, (*TRAIN, "--network", "small-cnn"), "'mlp'"),
    (nothing, (*TRAIN, "--device", "cdua"), "'cuda'"),
    (nothing, (*TRAIN, "--checkpoints", "hourly"), "--checkpoints"),
    (nothing, (*TRAIN, "--seed", "1,,2"), "--seed"),
    (nothing, (*TRAIN, "--train-size", "1000"), "--train-size"),
    (nothing, (*TRAIN, "--validation-share", "0"), "--validation-share"),
    (nothing, (*TRAIN, "--method", "ce", "--beta", "1"), "--beta"),
    (nothing, (*TRAIN, "--method", "ce", "--predictor-network", "mlp"), "--predictor-network"),
    (nothing, (*TRAIN, "--momentum", "0.5"), "sgd"),
    (nothing, (*TRAIN, "--initial-weights", "w.pt"), "w.pt"),
    (nothing, ("demo", "--seed", "x"), "--seed"),
    (nothing, ("train", "--data", "tabel.npz"), "tabel.npz"),
    (nothing, ("train", "--data", "mnist"), "NOISELIMIT_DATA"),
    (nothing, (*TRAIN, "--epochs", "0"), "--epochs"),
    (nothing, (*TRAIN, "--beta", "nan"), "--beta"),
    (nothing, (*TRAIN, "--threads", "0"), "--threads"),
    (nothing, (*TRAIN, "--threads-per-block", "0"), "--threads-per-block"),
    # Places to write.
    (text("out"), TRAIN, "out"),
    (text("file"), (*TRAIN[:-1], "file/out"), "file"),
    (nothing, (*TRAIN[:-1], ""), "--out"),
    # Transition matrices.
    (text("t.csv", "1,0,0\n0,0.5,0.4\n0,0,1"), (*TRAIN, "--noise", "matrix:t.csv"), "row 1"),
    (text("t.csv", "1,0\n0,1"), (*TRAIN, "--noise", "matrix:t.csv"), "3 classes"),
    (nothing, (*TRAIN, "--noise", "matrix:t.csv"), "t.csv"),
    # Data.
    (arrays(labels=with_row(LABELS, 4, -1)), TRAIN, "row 4"),
    (arrays(labels=with_row(LABELS, 5, 0.5)), TRAIN, "row 5"),
    (arrays(labels=with_row(LABELS, 6, np.nan)), TRAIN, "row 6"),
    (arrays(labels=LABELS[:59]), TRAIN, "59 labels"),
    (arrays(labels=LABELS * 2), TRAIN, "class 1"),
    (arrays(labels=LABELS * 0), TRAIN, "one class"),
    (arrays(labels=None), TRAIN, "labels"),
    (arrays(inputs=with_row(np.zeros((60, 5)), 8, np.inf)), TRAIN, "row 8"),
    (arrays(inputs=np.array([["a"]] * 60)), TRAIN, "table.npz"),
    (arrays(inputs=np.array([_Program()] * 60, dtype=object)), TRAIN, "table.npz"),
    (text("table.npz", "hello"), TRAIN, "table.npz"),
    (cut("table.npz"), TRAIN, "table.npz"),
    (text("table.xlsx"), ("train", "--data", "table.xlsx"), ".csv"),
    (csv(), ("train", "--data", "t.csv", "--label", "lable"), "label"),
    (text("cifar-10-batches-py/data_batch_1", pickle.dumps(_Program(), 2)),
     ("train", "--data-dir", ".", "--data", "cifar10"), "data_batch_1"),
    # Configuration files.
    (nothing, CONFIG, "--config"),
    (text("c.toml", "beta = [\nout = 1"), CONFIG, "TOML"),
    (text("c.toml", b"\xff"), CONFIG, "TOML"),
    (text("c.toml", "learning_rte = 1"), CONFIG, "'learning-rate'"),
    (text("c.toml", "config = 'd.toml'"), CONFIG, "'config'"),
    (text("c.toml", "beta = [[1]]"), CONFIG, "beta"),
    (text("c.toml", "quiet = 1"), CONFIG, "true or false"),
    (text("c.toml", "beta = true"), CONFIG, "beta"),
    (text("c.toml", "data = 'table.npz'\nbatch_size = 2.5"), CONFIG, "--batch-size"),
    (text("c.toml", "data = 'table.npz'\nout = ''"), CONFIG[:3], "--out"),
    (lambda: os.mkfifo("c.toml"), CONFIG, "c.toml"),
    # Interrupted trainings.
    (nothing, RESUME, "--out"),
    (saved("{"), RESUME, ".command.json"),
    (saved("[]"), RESUME, ".command.json"),
    (saved(directory="/elsewhere"), RESUME, "/elsewhere"),
    (saved(network="mlp,os.system"), RESUME, "your own code"),
    (saved(predictor_features=" os:system"), RESUME, "your own code"),
    (saved(method="limit-k"), RESUME, "'limit-l'"),
    (saved(download=True), RESUME, ".command.json"),
    (saved(out="elsewhere"), RESUME, ".command.json"),
    (both(saved(), text("c.toml", "beta = 1")), (*RESUME, "--config", "c.toml"), "--config"),
]  # fmt: skip
AUDITS = [
    (csv(label=None), AUDIT, "--label"),
    (csv(label="same"), AUDIT, "one class"),
    (csv(label=np.arange(40)), AUDIT, "different values"),
    (csv(label=np.arange(40) % 9), AUDIT, "--many-classes"),
    (csv(label=[None] * 40), AUDIT, "label"),
    (csv(remark=[f"remark number {row} has words" for row in range(40)]), AUDIT, "'remark'"),
    (csv(), ("audit",), "'DATA'"),
    (photos(b"no picture"), PHOTOS, "--skip-bad-images"),
    (folder("empty"), ("audit", "empty"), "empty"),
    (both(csv(), folder("audit-t")), AUDIT, "--overwrite"),
    (both(csv(), text("audit-t/notes.txt")), (*AUDIT, "--overwrite"), "notes.txt"),
    (both(csv(), text("there")), (*AUDIT, "--out", "there"), "there"),
    (both(csv(), text("there")), (*AUDIT, "--out", "there/x"), "there"),
    (photos(), (*PHOTOS, "--out", "photos/audit"), "--out"),
    (csv(), (*AUDIT, "--out", ".", "--overwrite"), "--out"),
    (both(csv(), text("c.csv")), (*AUDIT, "--write", "c.csv"), "--overwrite"),
    (csv(), (*AUDIT, "--write", "t.csv", "--overwrite"), "t.csv"),
    (csv(), (*AUDIT, "--write", "c.npz"), ".csv"),
    (csv(), (*AUDIT, "--write", "audit-t/c.csv"), "--write"),
    (photos(), (*PHOTOS, "--write", "photos/c.csv"), "photos/c.csv"),
    (both(csv(), folder("c.csv")), (*AUDIT, "--write", "c.csv", "--overwrite"), "folder"),
    (both(csv(), text("f")), (*AUDIT, "--write", "f/c.csv"), "f"),
    (nothing, ("audit", "digits", "--write", "c.csv"), "--write"),
    (csv(), (*AUDIT, "--write="), "--write"),
    (csv(), (*AUDIT, "--write", "c.csv", "--fix", "relable"), "'relabel'"),
    (csv(), (*AUDIT, "--fix", "drop"), "--write"),
    (csv(), (*AUDIT, "--noise", "uniform:0.2", "--write", "c.csv"), "--write"),
    (csv(), (*AUDIT, "--beta", "1,3"), "--fast"),
    (csv(), ("audit", "t.csv", "--epochs", "1,2"), "--epochs"),
    (csv(x=1e30 * (np.arange(40) % 7)), (*AUDIT, "--learning-rate", "1e30"), "learning rate"),
    (csv(), (*AUDIT, "--budget", "-1"), "--budget"),
    (csv(), (*AUDIT, "--expect-noise", "1"), "--expect-noise"),
    (csv(), (*AUDIT, "--min-quality", "nan"), "--min-quality"),
    (csv(), (*AUDIT, "--budget", "3", "--min-quality", "0.2"), "budget"),
    (csv(), (*AUDIT, "--device", "tpu"), "cpu"),
    (csv(), (*AUDIT, "--kernels", "maybe"), "auto"),
    (csv(), (*AUDIT, "--resize", "8"), "--resize"),
    (csv(), (*AUDIT, "--download"), "--download"),
    (csv(), (*AUDIT, "--ignore", "z"), "--ignore"),
    (csv(), (*AUDIT, "--ignore", "x,label"), "label"),
    (nothing, ("audit", "digits", "--ignore", "x"), "--ignore"),
]  # fmt: skip
RUNS = [
    (nothing, ("show", "nowhere"), "nowhere"),
    (folder("empty"), ("show", "empty"), "spec.json"),
    (nothing, ("show", "two\nlines"), "two lines"),
    (lambda: Path("run/metrics.json").unlink(), ("show", "run"), "metrics.json"),
    (cut("run/spec.json"), ("show", "run"), "run/spec.json"),
    (text("run/spec.json", "[]"), ("show", "run"), "run/spec.json"),
    (run_value("spec.json", schema=99), ("show", "run"), "schema 99"),
    (run_value("spec.json", epochs=-1), ("show", "run"), "epochs"),
    (run_value("spec.json", network=["mlp"]), ("show", "run"), "run/spec.json"),
    (run_value("spec.json", noise={"block": 1}), ("show", "run"), "block"),
    (cut("run/history.jsonl"), ("show", "run"), "run/history.jsonl"),
    (cut("run/data.json"), ("show", "run"), "run/data.json"),
    (run_value("data.json", std=[1e300] * 5), ("show", "run"), "run/data.json"),
    (cut("run/weights.safetensors"), ("export", "run"), "run/weights.safetensors"),
    (lambda: Path("run/weights.safetensors").unlink(), PREDICT, "run/weights.safetensors"),
    (run_value("spec.json", network="mlp-4x512"), PREDICT, "'mlp-4x512'"),
    (run_value("spec.json", network="os.system"), PREDICT, "--trust"),
    (nothing, (*PREDICT[:-1], "p.txt"), ".parquet"),
    (nothing, (*PREDICT[:-1], "table.npz/p.csv"), "table.npz"),
    (folder("p.csv"), PREDICT, "p.csv"),
    (nothing, ("predict", "run", "digits"), "[1, 8, 8]"),
    (csv(), ("predict", "run", "t.csv"), "t.csv"),
    (nothing, ("export", "run", "--out", "table.npz/w"), "table.npz"),
]
PYTHON = [
    (lambda: noiselimit.RunSpec("limit-k"), "limit-l"),
    (lambda: noiselimit.train([], (np.zeros((12, 4)), np.arange(12) % 3)), "grid"),
    (lambda: noiselimit.train(noiselimit.RunSpec(), 3), "int"),
    (lambda: noiselimit.train(noiselimit.RunSpec(), ([[1, 2], [3]], [0, 1])), "array"),
    (lambda: noiselimit.load_run("nowhere"), "nowhere"),
    (lambda: noiselimit.load_data("digts"), "digits"),
    (lambda: noiselimit.Reading(resize=0), "resize"),
    (lambda: noiselimit.LimitClassifier(seeds=0).fit(np.zeros((12, 4)), np.arange(12) % 3), "seeds"),
    (lambda: noiselimit.find_label_issues(), "pred_probs"),
]


def contents() -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(Path().rglob("*"))}


@pytest.mark.parametrize(("prepare", "arguments", "word"), [*COMMAND_LINES, *AUDITS])
def test_a_mistake_is_one_sentence_and_changes_nothing(command, table, prepare, arguments, word):
    check(command, prepare, arguments, word)


@pytest.mark.parametrize(("prepare", "arguments", "word"), RUNS)
def test_a_bad_run_folder(command, table, one_run, prepare, arguments, word):
    shutil.copytree(one_run, "run")
    check(command, prepare, arguments, word)


def check(command, prepare: Prepare, arguments: tuple[str, ...], word: str) -> None:
    prepare()
    before = contents()
    answer = command(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("noiselimit: ")
    assert answer.err.count("\n") == 1
    assert word in answer.err
    assert contents() == before


@pytest.mark.parametrize(("call", "word"), PYTHON)
def test_python_calls_raise_input_error(call, word):
    with pytest.raises(InputError, match=word):
        call()


@pytest.mark.parametrize(
    "arguments",
    [("--out", "taken"), ("--write", "c.npz"), ("--beta", "x"), ("--noise", "x"), ("--graphs", "x")],
)
def test_mistakes_in_options_are_found_before_data_are_read(command, monkeypatch, arguments):
    csv()()
    Path("taken").mkdir()

    def no_reading(*_: object, **__: object) -> None:
        raise AssertionError("data were read")

    monkeypatch.setattr("noiselimit.data.catalogue.load_data", no_reading)
    assert command(*AUDIT, *arguments).code == 2
    with pytest.raises(AssertionError, match="data were read"):
        command(*AUDIT)


@pytest.mark.parametrize("arguments", [("predict", "failed", "table.npz"), ("export", "failed")])
def test_a_failed_run_has_no_weights(command, table, arguments):
    assert command("train", "--data", table, "--learning-rate", "1e38", "--optimiser", "sgd").code == 1
    next(Path("runs").glob("limit-l*")).rename("failed")
    check(command, nothing, arguments, "failed")


def test_a_damaged_run_stops_training(command, table):
    assert command(*TRAIN, "--method", "ce").code == 0
    damaged = next(Path("out").glob("ce*"))
    cut(str(damaged / "metrics.json"))()
    answer = command(*TRAIN, "--method", "ce")
    assert answer.code == 2
    assert "metrics.json" in answer.err
    shutil.rmtree(damaged)
    assert command(*TRAIN, "--method", "ce").code == 0
