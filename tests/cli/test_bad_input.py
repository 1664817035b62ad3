"""Bad input: one sentence with the remedy, exit code 2, nothing printed, nothing written or changed."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

Prepare = Callable[[], object]
TRAIN = ("train", "--data", "table.npz", "--epochs", "1", "--out", "out")
AUDIT = ("audit", "t.csv", "--quiet", "--epochs", "1", "--fast")
PHOTOS = ("audit", "photos", "--quiet", "--fast")
PREDICT = ("predict", "run", "table.npz", "--out", "p.csv")
CONFIG = ("train", "--config", "c.toml", "--out", "out")
RESUME = ("train", "--resume", "out")
FANO = ("bound", "fano", "--classes", "10")


def nothing() -> None:
    """The good table is enough."""


def text(name: str, content: str | bytes = "") -> Prepare:
    def write() -> None:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


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


def photos() -> None:
    for row in range(12):
        Path("photos", "ab"[row % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4), 9 * row, np.uint8)).save(f"photos/{'ab'[row % 2]}/{row}.png")


def own_code() -> None:
    """The run names a function as its network."""
    spec = json.loads(Path("run/spec.json").read_text())
    Path("run/spec.json").write_text(json.dumps({**spec, "network": "os.system"}))


def folder(name: str) -> Prepare:
    return lambda: Path(name).mkdir(parents=True)


def saved(content: str | None = None, directory: str | None = None, **options: Any) -> Prepare:
    """Leave the options file of an interrupted training."""

    def write() -> None:
        typed = {"data": "table.npz", "epochs": "1", **options}
        note = {"format": 1, "folder": directory or str(Path.cwd()), "options": typed}
        text("out/.command.json", json.dumps(note) if content is None else content)()

    return write


COMMAND_LINES = [
    (nothing, ("tran",), "'train'"),
    (nothing, (*TRAIN, "--bta", "1"), "'--beta'"),
    (nothing, ("--versoin",), "'--version'"),
    (nothing, (*TRAIN, "--seed", "1,,2"), "--seed"),
    (nothing, (*TRAIN, "--epochs", "0"), "--epochs is 0:"),
    (nothing, (*TRAIN, "--validation-labels", "clen"), "--validation-labels 'clen'"),
    (nothing, (*TRAIN, "--device", "cdua"), "'cuda'"),
    (nothing, (*TRAIN, "--method", "ce", "--predictor-network", "mlp"), "--predictor-network"),
    (nothing, (*TRAIN, "--momentum", "0.5"), "sgd"),
    (nothing, (*TRAIN, "--initial-weights", "w.pt"), "w.pt"),
    # Places to write.
    (text("out"), TRAIN, "out"),
    (text("file"), (*TRAIN[:-1], "file/out"), "file"),
    (nothing, (*TRAIN[:-1], ""), "--out"),
    # Data.
    (nothing, ("train", "--data", "digts"), "'digits'"),
    (nothing, ("train", "--data", "mnist"), "NOISELIMIT_DATA"),
    (text("table.npz", "hello"), TRAIN, "table.npz"),
    (csv(label=None), ("train", "--data", "t.csv"), "--label"),
    # Configuration files.
    (nothing, CONFIG, "--config"),
    (text("c.toml", "beta = [\nout = 1"), CONFIG, "TOML"),
    (text("c.toml", "data = 'table.npz'\nbatch_size = 2.5"), CONFIG, "--batch-size"),
    (text("c.toml", "data = 'table.npz'\nout = ''"), CONFIG[:3], "--out"),
    (lambda: os.mkfifo("c.toml"), CONFIG, "c.toml"),
    # Interrupted trainings.
    (nothing, RESUME, "does not exist"),
    (folder("out"), RESUME, "no unfinished training"),
    (saved("{"), RESUME, ".command.json"),
    (saved('{"format": 2, "folder": ".", "options": {}}'), RESUME, ".command.json"),
    (saved(unknown=1), RESUME, ".command.json"),
    (saved(directory="/elsewhere"), RESUME, "/elsewhere"),
    (saved(download=True), RESUME, ".command.json"),
    (saved(out="elsewhere"), RESUME, ".command.json"),
    (both(saved(), text("c.toml", "beta = 1")), (*RESUME, "--config", "c.toml"), "--config"),
]  # fmt: skip
THEORY = [
    (nothing, ("bound", "fanno"), "'fano'"),
    (nothing, ("bound", "fano", "--classes", "ten", "--bits", "1"), "--classes"),
    (nothing, (*FANO, "--noise", "0.8"), "'--bits'"),
    (nothing, (*FANO, "--bits", "1", "--noise", "0.1", "--entropy", "1"), "--entropy"),
    (nothing, (*FANO, "--bits", "-1", "--noise", "0.8"), "--bits"),
    (nothing, (*FANO, "--bits", "1", "--noise", "1.5"), "--noise"),
    (nothing, (*FANO, "--bits", "1", "--entropy", "4"), "--entropy"),
    (nothing, ("bound", "plot", "--out", "figure.png"), ".svg"),
    (nothing, ("bound", "plot", "--out", "figure.svg", "--noise", "2"), "--noise"),
    (nothing, ("noise", "--noise", "none"), "--classes"),
    (nothing, ("noise", "--noise", "none", "--data", "digits", "--classes", "3"), "--classes"),
    (nothing, ("noise", "--noise", "none", "--classes", "1"), "--classes"),
    (nothing, ("noise", "--noise", "none", "--classes", "a,a"), "--classes"),
    (nothing, ("noise", "--noise", "instance:0.4", "--classes", "3"), "--data"),
    (nothing, ("noise", "--noise", "none", "--data", "digits", "--seed", "-1"), "--seed"),
    (text("m.csv", "1,0\n0,1"), ("noise", "--noise", "matrix:m.csv", "--data", "digits"), "m.csv"),
]
AUDITS = [
    (csv(), ("audit",), "'DATA'"),
    (csv(label=np.arange(40) % 9), AUDIT, "--many-classes"),
    (both(csv(), text("audit-t/notes.txt")), (*AUDIT, "--overwrite"), "notes.txt"),
    (csv(), (*AUDIT, "--out", ".", "--overwrite"), "--out"),
    (photos, (*PHOTOS, "--out", "photos/audit"), "--out"),
    (photos, (*PHOTOS, "--write", "photos/c.csv"), "photos/c.csv"),
    (csv(), (*AUDIT, "--write", "audit-t/c.csv"), "--write"),
    (both(csv(), folder("c.csv")), (*AUDIT, "--write", "c.csv", "--overwrite"), "is a folder"),
    (both(csv(), text("f")), (*AUDIT, "--write", "f/c.csv"), "check its folder"),
    (nothing, ("audit", "digits", "--write", "c.csv"), "--write"),
    (csv(), (*AUDIT, "--write="), "--write"),
    (csv(), (*AUDIT, "--write", "c.csv", "--fix", "relable"), "'relabel'"),
    (csv(), (*AUDIT, "--fix", "drop"), "--write"),
    (csv(), (*AUDIT, "--noise", "uniform:0.2", "--write", "c.csv"), "--write"),
    (csv(), (*AUDIT, "--beta", "1,3"), "--fast"),
    (csv(), ("audit", "t.csv", "--epochs", "1,2"), "--epochs"),
    (csv(x=1e30 * (np.arange(40) % 7)), (*AUDIT, "--learning-rate", "1e30"), "learning rate"),
    (csv(), (*AUDIT, "--budget", "9", "--expect-noise", "0.1"), "--expect-noise and --budget"),
    (csv(), (*AUDIT, "--ignore", "z"), "--ignore"),
]
RUNS = [
    (nothing, ("show", "nowhere"), "does not exist"),
    (saved(), ("show", "out"), "--resume out"),
    (nothing, ("export", "runs"), "such as runs/"),
    (nothing, ("show", "two\nlines"), "two lines"),
    (text("run/spec.json", "[]"), ("show", "run"), "run/spec.json"),
    (text("run/weights.safetensors"), ("export", "run"), "run/weights.safetensors"),
    (own_code, PREDICT, "--trust"),
    (nothing, (*PREDICT[:-1], "p.txt"), ".parquet"),
    (folder("p.csv"), PREDICT, "p.csv"),
    (nothing, ("predict", "run", "digits"), "[1, 8, 8]"),
    (text("p.csv"), PREDICT, "--overwrite"),
    (csv(), ("predict", "run", "t.csv", "--out", "t.csv", "--overwrite"), "is the data"),
    (nothing, ("export", "run", "--out", "table.npz/w.safetensors"), "table.npz"),
    (nothing, ("export", "run", "--out", "w.pt"), ".safetensors"),
    (nothing, ("export", "run", "--out", "run/weights.safetensors", "--overwrite"), "inside"),
    (text("w.safetensors"), ("export", "run", "--out", "w.safetensors"), "--overwrite"),
]


def contents() -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(Path().rglob("*"))}


@pytest.mark.parametrize(("prepare", "arguments", "word"), [*COMMAND_LINES, *THEORY, *AUDITS, *RUNS])
def test_a_mistake_is_one_sentence_and_changes_nothing(command, table, one_run, prepare, arguments, word):
    shutil.copytree(one_run, "run")
    prepare()
    before = contents()
    answer = command(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("noiselimit: ")
    assert answer.err.count("\n") == 1
    assert word in answer.err
    assert contents() == before


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


def test_a_damaged_run_stops_training(command, table):
    assert command(*TRAIN, "--method", "ce").code == 0
    damaged = next(Path("out").glob("ce*"))
    (damaged / "metrics.json").write_text("{")
    answer = command(*TRAIN, "--method", "ce")
    assert answer.code == 2
    assert "metrics.json" in answer.err
    shutil.rmtree(damaged)
    assert command(*TRAIN, "--method", "ce").code == 0
