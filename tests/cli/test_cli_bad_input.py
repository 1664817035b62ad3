"""Every mistake: one sentence on stderr that names the thing and the remedy, exit code 2, nothing written.

The lists are tested in tests/bad_input, together with others.
"""

import json
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

Prepare = Callable[[Path], object]
TRAIN = ("train", "--data", "table.npz", "--epochs", "1", "--out", "out")
LABELS = np.arange(60) % 3


def nothing(folder: Path) -> None:
    """The good table is enough."""


def text(name: str, content: str) -> Prepare:
    return lambda folder: (folder / name).write_text(content)


def matrix(*rows: str) -> Prepare:
    return text("t.csv", "\n".join(rows))


def empty_folder(folder: Path) -> None:
    (folder / "empty").mkdir()


def dangling(folder: Path) -> None:
    (folder / "out").symlink_to("nowhere")


def with_row(array: np.ndarray, row: int, value: float) -> np.ndarray:
    changed = array.astype(np.float64)
    changed[row] = value
    return changed


def arrays(**changes: object) -> Prepare:
    """Replace arrays of the good table, or leave them out where None."""

    def write(folder: Path) -> None:
        with np.load(folder / "table.npz") as good:
            kept = {**good, **changes}
        np.savez(folder / "table.npz", **{name: value for name, value in kept.items() if value is not None})

    return write


def input_row(row: int, value: float) -> Prepare:
    return lambda folder: arrays(inputs=with_row(np.load(folder / "table.npz")["inputs"], row, value))(folder)


def truncated(name: str) -> Prepare:
    def cut(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 3])

    return cut


def idx_folder(images: bytes | None = None, labels: bytes | None = None) -> Prepare:
    """Twelve small pictures in MNIST's format, one of the files replaced."""
    good_images = struct.pack(">BBBB3I", 0, 0, 8, 3, 12, 4, 4) + bytes(12 * 16)
    good_labels = struct.pack(">BBBBI", 0, 0, 8, 1, 12) + bytes(i % 3 for i in range(12))

    def write(folder: Path) -> None:
        (folder / "idx").mkdir()
        (folder / "idx/train-images-idx3-ubyte").write_bytes(good_images if images is None else images)
        (folder / "idx/train-labels-idx1-ubyte").write_bytes(good_labels if labels is None else labels)

    return write


def json_value(name: str, **changes: object) -> Prepare:
    """Replace values in a JSON file of the run."""

    def write(folder: Path) -> None:
        value = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**value, **changes}))

    return write


def without(name: str) -> Prepare:
    return lambda folder: (folder / name).unlink()


def number_cases() -> Iterator[tuple[str, Prepare, tuple[str, ...], tuple[str, ...]]]:
    whole = ("seed", "epochs", "patience", "batch-size", "train-size")
    real = ("beta", "sigma", "learning-rate", "weight-decay", "momentum", "validation-share", "test-share")
    for option in (*whole, *real):
        for value in ("many", "-1", "nan", "inf", "1,,2", "", *(("1.5",) if option in whole else ())):
            method = ("--method", "limit-l+s") if option == "sigma" else ()
            arguments = (*TRAIN, *method, f"--{option}", value)
            yield f"{option}={value}", nothing, arguments, (f"--{option} is", value, "give")


NAMES = [
    ("command", nothing, ("tran",), ("command 'tran'", "'train'")),
    (
        "command like none",
        nothing,
        ("xyzzy",),
        (
            "'xyzzy'",
            "choose one of audit, bound, demo, export, noise, predict, show, train",
        ),
    ),
    ("option", nothing, (*TRAIN, "--bta", "1"), ("'--bta'", "'--beta'")),
    ("option of show", nothing, ("show", "x", "--jsn"), ("'--jsn'", "'--json'")),
    ("root option", nothing, ("--versoin",), ("'--versoin'", "'--version'")),
    ("no data", nothing, ("train",), ("'--data'", "noiselimit train --help")),
    ("no run", nothing, ("show",), ("'RUN...'", "noiselimit show --help")),
    ("no value", nothing, (*TRAIN, "--beta"), ("'--beta'", "requires an argument")),
    ("one too many", nothing, (*TRAIN, "extra"), ("extra", "noiselimit train --help")),
    ("data set", nothing, ("train", "--data", "digts"), ("data set 'digts'", "'digits'")),
    ("method", nothing, (*TRAIN, "--method", "limit-k"), ("method 'limit-k'", "'limit-l'")),
    ("noise", nothing, (*TRAIN, "--noise", "unifrm:0.4"), ("noise 'unifrm'", "'uniform'")),
    ("network", nothing, (*TRAIN, "--network", "mpl"), ("network 'mpl'", "'mlp'")),
    (
        "predictor network",
        nothing,
        (*TRAIN, "--predictor-network", "smal-cnn"),
        ("network 'smal-cnn'", "'small-cnn'"),
    ),
    ("optimiser", nothing, (*TRAIN, "--optimiser", "adm"), ("optimiser 'adm'", "'adam'")),
    ("schedule", nothing, (*TRAIN, "--schedule", "cosin"), ("schedule 'cosin'", "'cosine'")),
    ("device", nothing, (*TRAIN, "--device", "cdua"), ("device 'cdua'", "'cuda'")),
    ("device number", nothing, (*TRAIN, "--device", "cpu:x"), ("device 'cpu:x'", "'cpu'")),
]
VALUES = [
    ("threads a word", nothing, (*TRAIN, "--threads", "x"), ("'--threads'", "integer")),
    ("no threads", nothing, (*TRAIN, "--threads", "0"), ("--threads is 0", "from 1 to")),
    (
        "no threads per block",
        nothing,
        (*TRAIN, "--threads-per-block", "0"),
        ("--threads-per-block is 0", "from 1 to"),
    ),
    ("learning rate 0", nothing, (*TRAIN, "--learning-rate", "0"), ("--learning-rate is 0", "above 0")),
    ("momentum 1", nothing, (*TRAIN, "--momentum", "1"), ("--momentum is 1", "< 1")),
    ("batch size 0", nothing, (*TRAIN, "--batch-size", "0"), ("--batch-size is '0'", "≥ 2")),
    ("batch size 1", nothing, (*TRAIN, "--batch-size", "1"), ("--batch-size is '1'", "≥ 2")),
    (
        "train size too large",
        nothing,
        (*TRAIN, "--train-size", "1000"),
        ("--train-size is 1000", "choose 2 to 38"),
    ),
    (
        "no validation",
        nothing,
        (*TRAIN, "--validation-share", "0"),
        ("--validation-share is 0.0", "raise it"),
    ),
    ("all tested", nothing, (*TRAIN, "--test-share", "0.99"), ("examples", "raise it or give more")),
    (
        "beta of ce",
        nothing,
        (*TRAIN, "--method", "ce", "--beta", "1"),
        ("--beta is not", "ce", "leave it out"),
    ),
    ("sigma of limit-l", nothing, (*TRAIN, "--sigma", "1"), ("--sigma is not", "limit-l", "leave it out")),
    ("cnn for vectors", nothing, (*TRAIN, "--network", "small-cnn"), ("'small-cnn'", "choose 'mlp'")),
    ("p above 1", nothing, (*TRAIN, "--noise", "uniform:1.5"), ("1.5", "from 0 to 1")),
    ("p below 0", nothing, (*TRAIN, "--noise", "uniform:-0.1"), ("-0.1", "from 0 to 1")),
    ("p NaN", nothing, (*TRAIN, "--noise", "uniform:nan"), ("nan", "from 0 to 1")),
    ("p a word", nothing, (*TRAIN, "--noise", "uniform:lots"), ("uniform:lots", "write uniform:0.4")),
    ("p missing", nothing, (*TRAIN, "--noise", "uniform"), ("uniform", "write uniform:0.4")),
    ("noise list item missing", nothing, (*TRAIN, "--noise", "none,"), ("--noise is", "separated by commas")),
    ("demo seed", nothing, ("demo", "--seed", "x"), ("--seed is 'x'", "whole number")),
    ("demo seed negative", nothing, ("demo", "--seed", "-1"), ("--seed is -1", "≥ 0")),
    ("demo device", nothing, ("demo", "--device", "gpu"), ("device 'gpu'", "'cpu'")),
]
WITH_MATRIX = (*TRAIN, "--noise", "matrix:t.csv")
MATRICES = [
    ("matrix sum", matrix("1,0,0", "0,0.5,0.4", "0,0,1"), WITH_MATRIX, ("t.csv", "row 1 sums to 0.9")),
    ("matrix not square", matrix("1,0,0", "0,1,0"), WITH_MATRIX, ("t.csv", "[2, 3]", "per class")),
    ("matrix ragged", matrix("1,0", "1"), WITH_MATRIX, ("t.csv", "equally long")),
    ("matrix negative", matrix("2,-1", "0,1"), WITH_MATRIX, ("t.csv", "row 0, column 0", "correct it")),
    ("matrix of words", matrix("a,b", "c,d"), WITH_MATRIX, ("t.csv", "write it anew")),
    ("matrix classes", matrix("1,0", "0,1"), WITH_MATRIX, ("2 rows", "3 classes", "3 × 3")),
    ("matrix missing", nothing, WITH_MATRIX, ("t.csv", "No such file")),
    ("matrix unnamed", nothing, (*TRAIN, "--noise", "matrix:"), ("'matrix'", "matrix:FILE")),
    ("matrix suffix", text("t.xls", "1"), (*TRAIN, "--noise", "matrix:t.xls"), ("t.xls", "convert it")),
    (
        "matrix of objects",
        lambda folder: np.save(folder / "t.npy", np.array([{}], dtype=object)),
        (*TRAIN, "--noise", "matrix:t.npy"),
        ("t.npy", "write it anew"),
    ),
]
DATA = [
    (
        "label negative",
        arrays(labels=with_row(LABELS, 4, -1)),
        TRAIN,
        ("table.npz", "row 4 is -1", "renumber"),
    ),
    (
        "label fractional",
        arrays(labels=with_row(LABELS, 5, 0.5)),
        TRAIN,
        ("table.npz", "row 5 is 0.5", "renumber"),
    ),
    (
        "label missing",
        arrays(labels=with_row(LABELS, 6, np.nan)),
        TRAIN,
        ("table.npz", "row 6 is missing", "remove"),
    ),
    (
        "label infinite",
        arrays(labels=with_row(LABELS, 7, np.inf)),
        TRAIN,
        ("table.npz", "row 7 is inf", "renumber"),
    ),
    (
        "labels too few",
        arrays(labels=LABELS[:59]),
        TRAIN,
        ("table.npz", "60 inputs but 59 labels", "give one"),
    ),
    (
        "labels in a table",
        arrays(labels=LABELS[:, None]),
        TRAIN,
        ("table.npz", "[60, 1]", "one label per example"),
    ),
    ("label objects", arrays(labels=np.array([{}] * 60)), TRAIN, ("table.npz", "'labels'", "plain numbers")),
    (
        "class without example",
        arrays(labels=LABELS * 2),
        TRAIN,
        ("table.npz", "class 1 has no example", "renumber"),
    ),
    (
        "named class without example",
        arrays(class_names=np.array(["a", "b", "c", "d"])),
        TRAIN,
        ("table.npz", "class 3 ('d') has no example", "add one"),
    ),
    ("one class", arrays(labels=LABELS * 0), TRAIN, ("table.npz", "only one class", "at least two")),
    ("input NaN", input_row(8, np.nan), TRAIN, ("table.npz", "row 8", "repair or remove")),
    ("input infinite", input_row(9, np.inf), TRAIN, ("table.npz", "row 9", "repair or remove")),
    ("input huge", input_row(10, 1e300), TRAIN, ("table.npz", "row 10", "rescale")),
    (
        "no inputs",
        arrays(inputs=np.empty((0, 5)), labels=LABELS[:0]),
        TRAIN,
        ("table.npz", "empty", "at least one"),
    ),
    (
        "input objects",
        arrays(inputs=np.array([[None]] * 60)),
        TRAIN,
        ("table.npz", "'inputs'", "plain numbers"),
    ),
    (
        "input words",
        arrays(inputs=np.array([["a"]] * 60)),
        TRAIN,
        ("table.npz", "convert them to real numbers"),
    ),
    ("array missing", arrays(labels=None), TRAIN, ("table.npz", "no array 'labels'", "rename")),
    ("no arrays", arrays(inputs=None, labels=None), TRAIN, ("table.npz", "no array 'inputs'", "nothing")),
    (
        "test part unlike",
        arrays(test_inputs=np.zeros((4, 9)), test_labels=np.zeros(4, int)),
        TRAIN,
        ("table", "test part", "[9]", "prepare both parts alike"),
    ),
    ("npz truncated", truncated("table.npz"), TRAIN, ("table.npz", "numpy.savez")),
    ("npz of text", text("table.npz", "hello"), TRAIN, ("table.npz", "numpy.savez")),
    (
        "unknown suffix",
        text("table.xlsx", "1,2"),
        ("train", "--data", "table.xlsx"),
        ("table.xlsx", ".npz", ".csv", "convert"),
    ),
    (
        "label column absent",
        text("table.csv", "a,classes\n1,0\n2,1\n"),
        ("train", "--data", "table.csv", "--label", "class"),
        ("table.csv", "'class'", "a, classes", "--label classes"),
    ),
    (
        "label column all unique",
        text("table.csv", "a,b\n1,7\n2,8\n2,9\n"),
        ("train", "--data", "table.csv", "--label", "b"),
        ("table.csv", "'b'", "3 different values in 3 rows", "another column"),
    ),
    (
        "no such file",
        nothing,
        ("train", "--data", "tabel.npz"),
        ("tabel.npz", "no such file", "check the path"),
    ),
    (
        "idx truncated",
        idx_folder(images=struct.pack(">BBBB3I", 0, 0, 8, 3, 12, 4, 4) + bytes(9)),
        ("train", "--data", "idx"),
        ("train-images-idx3-ubyte", "cut off", "fetch it again"),
    ),
    (
        "gzip truncated",
        idx_folder(images=b"\x1f\x8b\x08\x00"),
        ("train", "--data", "idx"),
        ("train-images-idx3-ubyte", "gzip", "fetch the file again"),
    ),
    (
        "not idx",
        idx_folder(labels=b"hello"),
        ("train", "--data", "idx"),
        ("train-labels-idx1-ubyte", "not an idx file"),
    ),
    ("idx folder empty", nothing, ("train", "--data", "."), ("neither idx files", "name a folder")),
    ("mnist nowhere", nothing, ("train", "--data", "mnist"), ("--data-dir", "NOISELIMIT_DATA", "--download")),
    (
        "mnist not there",
        nothing,
        ("train", "--data", "mnist", "--data-dir", "."),
        ("--data-dir", "NOISELIMIT_DATA", "--download"),
    ),
]
OUTPUT = [
    ("out below a file", text("file", ""), (*TRAIN[:-1], "file/out"), ("file/out", "choose another")),
    ("out is a file", text("out", ""), TRAIN, ("folder out", "choose another")),
    ("demo out is a file", text("demo", ""), ("demo",), ("folder demo", "choose another")),
    ("out leads nowhere", dangling, TRAIN, ("folder out", "not a folder", "choose another")),
    ("empty out", nothing, (*TRAIN[:-1], ""), ("--out is empty", "name a file or folder")),
    (
        "empty copy",
        nothing,
        ("audit", "table.npz", "--write="),
        ("--write is empty", "name a file or folder"),
    ),
]
WITH_CONFIG = ("train", "--config", "c.toml", "--out", "out")
CONFIG = [
    ("config missing", nothing, WITH_CONFIG, ("c.toml", "check the path of --config")),
    (
        "config broken",
        text("c.toml", "beta = [\nout = 1"),
        WITH_CONFIG,
        ("c.toml", "not valid TOML", "line 2", "correct"),
    ),
    (
        "config no UTF-8",
        lambda folder: (folder / "c.toml").write_bytes(b"\xff"),
        WITH_CONFIG,
        ("c.toml", "not valid TOML"),
    ),
    (
        "config empty out",
        text("c.toml", 'out = ""'),
        ("train", "--config", "c.toml", "--data", "table.npz"),
        ("c.toml: out is empty", "name a file or folder"),
    ),
    (
        "config unknown key",
        text("c.toml", "learning_rte = 1"),
        WITH_CONFIG,
        ("c.toml", "'learning_rte'", "'learning-rate'"),
    ),
    ("config in config", text("c.toml", "config = 'd.toml'"), WITH_CONFIG, ("c.toml", "unknown", "'config'")),
    ("config table", text("c.toml", "[beta]\nx = 1"), WITH_CONFIG, ("c.toml", "beta must be", "correct it")),
    ("config date", text("c.toml", "beta = 2024-01-01"), WITH_CONFIG, ("c.toml", "beta must be")),
    ("config empty list", text("c.toml", "beta = []"), WITH_CONFIG, ("c.toml", "beta must be")),
    ("config nested list", text("c.toml", "beta = [[1]]"), WITH_CONFIG, ("c.toml", "beta must be")),
    ("config switch as number", text("c.toml", "beta = true"), WITH_CONFIG, ("c.toml", "beta must be")),
    (
        "config number as switch",
        text("c.toml", "quiet = 1"),
        WITH_CONFIG,
        ("c.toml", "quiet", "true or false"),
    ),
    (
        "config bad value",
        text("c.toml", "data = 'table.npz'\nbatch_size = 2.5"),
        WITH_CONFIG,
        ("--batch-size is '2.5'", "whole number"),
    ),
    ("config without data", text("c.toml", "beta = 1"), WITH_CONFIG, ("'--data'",)),
]


PREDICT = ("predict", "run", "table.npz", "--out", "p.csv")
EXPORT = ("export", "run", "--out", "w.safetensors")
SHOW = ("show", "run")
AGAIN = "train the run again"
NO_RUNS = [
    ("show nothing there", nothing, ("show", "nowhere"), ("nowhere", "noiselimit train")),
    ("show no run", empty_folder, ("show", "empty"), ("not a run folder", "spec.json", "noiselimit train")),
    ("show a file", nothing, ("show", "table.npz"), ("table.npz", "noiselimit train")),
    (
        "export no run",
        empty_folder,
        ("export", "empty"),
        ("not a run folder", "spec.json", "noiselimit train"),
    ),
    (
        "predict no run",
        empty_folder,
        ("predict", "empty", "table.npz"),
        ("not a run folder", "noiselimit train"),
    ),
    ("metrics missing", without("run/metrics.json"), SHOW, ("run", "no metrics.json")),
]
DAMAGED = [
    ("spec truncated", truncated("run/spec.json"), SHOW, ("run/spec.json", AGAIN)),
    ("spec of a list", text("run/spec.json", "[]"), SHOW, ("run/spec.json", AGAIN)),
    ("spec newer", json_value("run/spec.json", schema=99), SHOW, ("run/spec.json", "schema 99", "install")),
    ("spec value", json_value("run/spec.json", epochs=-1), SHOW, ("run/spec.json", "epochs is -1", AGAIN)),
    ("spec type", json_value("run/spec.json", network=["mlp"]), SHOW, ("run/spec.json", AGAIN)),
    ("spec method", json_value("run/spec.json", method=7), SHOW, ("run/spec.json", AGAIN)),
    ("spec noise", json_value("run/spec.json", noise="uniform:x"), SHOW, ("run/spec.json", AGAIN)),
    ("metrics truncated", truncated("run/metrics.json"), SHOW, ("run/metrics.json", AGAIN)),
    ("metrics empty", text("run/metrics.json", "{}"), SHOW, ("run/metrics.json", AGAIN)),
    (
        "metrics incomplete",
        text("run/metrics.json", '{"status": "finished", "failure": null, "best_epoch": 1}'),
        ("show", "run", "run"),
        ("run/metrics.json", AGAIN),
    ),
    ("history truncated", truncated("run/history.jsonl"), SHOW, ("run/history.jsonl", AGAIN)),
    ("history of lists", text("run/history.jsonl", "[1]\n"), (*SHOW, "--json"), ("run/history.jsonl", AGAIN)),
    ("data truncated", truncated("run/data.json"), SHOW, ("run/data.json", AGAIN)),
    ("weights truncated", truncated("run/weights.safetensors"), EXPORT, ("run/weights.safetensors", AGAIN)),
    ("weights missing", without("run/weights.safetensors"), PREDICT, ("run/weights.safetensors", AGAIN)),
    (
        "weights unlike network",
        json_value("run/spec.json", network="mlp-4x512"),
        PREDICT,
        ("run", "'mlp-4x512'", AGAIN),
    ),
]
PREDICTIONS = [
    ("predict suffix", nothing, (*PREDICT[:-1], "p.txt"), ("p.txt", ".csv or .parquet")),
    ("predict below a file", nothing, (*PREDICT[:-1], "table.npz/p.csv"), ("table.npz", "choose another")),
    ("predict onto a folder", lambda folder: (folder / "p.csv").mkdir(), PREDICT, ("p.csv", "name a file")),
    ("predict unknown data", nothing, ("predict", "run", "digts"), ("'digts'", "'digits'")),
    (
        "predict other shape",
        nothing,
        ("predict", "run", "digits"),
        ("[1, 8, 8]", "[5]", "like those of 'table'"),
    ),
    ("predict NaN", input_row(3, np.nan), PREDICT, ("table.npz", "row 3", "repair")),
    ("predict mnist", nothing, ("predict", "run", "mnist"), ("--data-dir", "NOISELIMIT_DATA", "--download")),
    ("export below a file", nothing, (*EXPORT[:-1], "table.npz/w"), ("table.npz", "choose another")),
]


@pytest.mark.parametrize("arguments", [("predict", "failed", "table.npz"), ("export", "failed")])
def test_a_failed_run_has_nothing_to_use(command, table, tmp_path, arguments):
    assert command("train", "--data", table, "--learning-rate", "1e38", "--optimiser", "sgd").code == 1
    next(Path("runs").glob("limit-l*")).rename("failed")
    before = contents(tmp_path)
    assert_refused(command(*arguments), ("failed has no weights", "lower the learning rate"))
    assert contents(tmp_path) == before


def test_a_damaged_run_stops_training_with_the_remedy(command, table, tmp_path):
    first = (*TRAIN, "--method", "ce")
    assert command(*first).code == 0
    damaged = next(Path("out").glob("ce*"))
    truncated("metrics.json")(damaged)
    assert_refused(
        command(*first), (str(damaged / "metrics.json"), "delete the folder and train the run again")
    )
    shutil.rmtree(damaged)
    assert command(*first).code == 0


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below, with what it holds."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def assert_refused(answer, words: tuple[str, ...]) -> None:
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("noiselimit: ")
    assert answer.err.endswith((".\n", "?\n"))
    assert answer.err.count("\n") == 1
    for word in words:
        assert word in answer.err
