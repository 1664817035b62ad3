"""Every reader of files: which good files it has to start from, and how a whole read of them goes."""

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from noiselimit.data.cifar10n import read_cifar10n
from samples import AUDIT

from noiselimit.cli.audit import is_noted
from noiselimit.cli.main import run as command
from noiselimit.data.catalogue import FILE_FORMATS
from noiselimit.data.cifar import CIFAR10, read_cifar
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.image_folder import read_image_folder
from noiselimit.data.mnist import read_idx_folder
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError
from noiselimit.noise import as_noise

Read = Callable[[Path, Path], None]
"""(folder of the reader, the file in it that was changed) → nothing, or InputError."""


@dataclass(frozen=True)
class Reader:
    """A reader under test."""

    read: Read
    folder: str
    """Of the samples."""
    files: str = "**/*"
    """Those that are changed, one at a time."""


def check(data: DataSet) -> None:
    """What every data set that was read has to be."""
    for part in (data.examples, data.test):
        if part is None:
            continue
        classes = len(part.class_names)
        assert classes >= 2
        assert len(part.inputs) == len(part.labels) > 0
        assert part.labels.dtype == np.int64
        assert part.labels.max() < classes
        assert part.labels.min() >= 0 or part is data.examples
        inputs = part.inputs[:]
        assert inputs.dtype in (np.uint8, np.float32)
        assert np.isfinite(inputs).all()


def typed(*arguments: object) -> None:
    """A command line; what it refuses in one sentence is an InputError here, anything else goes through."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command([str(argument) for argument in arguments])
    if code == 2:
        assert err.getvalue().count("\n") == 1, err.getvalue()
        raise InputError(err.getvalue())
    assert code == 0, (code, err.getvalue())


def _run(folder: Path, _: Path) -> None:
    typed("show", folder)
    typed("show", folder, folder)
    typed("show", folder, "--json")
    _report(folder, folder)


def _config(_: Path, path: Path) -> None:
    """Everything is looked at before the data are, which are not there."""
    try:
        typed("train", "--config", path, "--data", "nowhere.npz", "--out", path.parent / "out")
    except InputError as error:
        if "nowhere.npz: there is no such file" not in str(error):
            raise


def _command(folder: Path, _: Path) -> None:
    """Started in the root folder, as the sample says. What is typed wins, so the data are not there."""
    with contextlib.chdir("/"):
        try:
            typed("train", "--resume", folder, "--data", "nowhere.npz")
        except InputError as error:
            if "nowhere.npz: there is no such file" not in str(error):
                raise


def _writing(folder: Path, _: Path) -> None:
    if not is_noted(folder, AUDIT):
        raise InputError("another command began to write; or none.")


def _loaded(folder: Path) -> Any:
    from noiselimit import load_run

    return load_run(folder)


def _weights(folder: Path, _: Path) -> None:
    run = _loaded(folder)
    said = run.predict_proba(np.zeros((2, *run.data.input_shape), np.float32))
    assert np.isfinite(said).all()
    assert run.predictor is not None


def _report(folder: Path, _: Path) -> None:
    from noiselimit.report import render
    from noiselimit.report.runs import make_report

    run = _loaded(folder)
    inputs = np.zeros((60, 4), np.float32)
    data = DataSet("table", make_examples(inputs, np.arange(60) % 3), table=run.data.table)
    render(make_report("title", [run], data))


def _averaged(folder: Path, _: Path) -> None:
    averaged = _loaded(folder).averaged
    assert averaged.index.dtype == np.int64
    assert averaged.classifier.dtype == np.float32
    assert np.isfinite(averaged.classifier).all()


def _initial(_: Path, path: Path) -> None:
    from torch import nn

    from noiselimit.networks.pretrained import read_weights_file, with_pretrained

    layer = nn.Linear(4, 3)
    with_pretrained({"head.weight": layer.weight, "head.bias": layer.bias}, read_weights_file(path))


def _table(_: Path, path: Path) -> None:
    check(FILE_FORMATS[path.suffix].read(path, Reading(keep_unlabelled=True)))
    check(FILE_FORMATS[path.suffix].read(path, Reading()))


def _noise(kind: str) -> Read:
    names = ["a", "b", "c"]
    examples = make_examples(np.zeros((60, 2), np.float32), np.arange(60) % 3, class_names=names)

    def read(_: Path, path: Path) -> None:
        labels = as_noise(f"{kind}:{path}").draw(examples, 0)
        assert labels.min() >= 0
        assert labels.max() < 3

    return read


READERS: dict[str, Reader] = {
    "run folder, JSON": Reader(_run, "run", "*.json*"),
    "run folder, safetensors": Reader(_weights, "run", "weights.safetensors"),
    "run folder, network": Reader(_weights, "run", "[sd]*.json"),
    "run folder, averages": Reader(_averaged, "run", "averaged.safetensors"),
    "run folder, Parquet": Reader(_report, "run", "*.parquet"),
    "initial weights": Reader(_initial, "initial"),
    "unfinished training": Reader(_command, "command"),
    "unfinished audit": Reader(_writing, "writing"),
    "TOML": Reader(_config, "toml"),
    "CSV": Reader(_table, "csv"),
    "Parquet": Reader(_table, "parquet"),
    "npz": Reader(_table, "npz"),
    "idx": Reader(lambda folder, _: check(read_idx_folder(folder)), "idx"),
    "CIFAR, binary": Reader(lambda folder, _: check(read_cifar(CIFAR10, folder)), "cifar-binary"),
    "CIFAR, python": Reader(lambda folder, _: check(read_cifar(CIFAR10, folder)), "cifar-python"),
    "CIFAR-10N, torch": Reader(lambda folder, _: check(read_cifar10n(folder)), "cifar10n", "*.pt"),
    "CIFAR-10N, npz": Reader(lambda folder, _: check(read_cifar10n(folder)), "cifar10n-npz", "*.npz"),
    "pictures": Reader(lambda folder, _: check(read_image_folder(folder, Reading(resize=8))), "pictures"),
    "labels": Reader(_noise("given"), "labels"),
    "transition matrix": Reader(_noise("matrix"), "matrix"),
}
