"""What stands in the way of a training that is to go on: its notes, its checkpoints, another process."""

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from asked import Case

if sys.platform != "win32":
    import fcntl

RESUME = ("train", "--resume", "out")
TRAIN = ("train", "--data", "table.npz", "--epochs", "1", "--out", "out")
_open: list[int] = []
"""Handles of locks that 'other processes' hold until this one ends."""


def _noted(
    content: str | None = None, *, folder: str | None = None, **options: object
) -> Callable[[Path], None]:
    """A training in out was interrupted, or somebody wants us to think so."""

    def write(place: Path) -> None:
        typed = {"data": "table.npz", "epochs": "1", **options}
        note = {"format": 1, "folder": folder or str(Path.cwd()), "options": typed}
        (place / "out").mkdir()
        (place / "out" / ".command.json").write_text(json.dumps(note) if content is None else content)

    return write


def _newer_checkpoint(place: Path) -> None:
    import hashlib

    from safetensors.torch import save

    content = save({}, {"format": "99", "runs": "{}"})
    checksum = hashlib.blake2b(content, digest_size=16).hexdigest()
    (place / "out" / ".checkpoints").mkdir(parents=True)
    (place / "out" / ".checkpoints" / f"epoch-00001-{checksum}.safetensors").write_bytes(content)


def _held(name: str) -> Callable[[Path], None]:
    def hold(place: Path) -> None:
        file = place / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"4711 {socket.gethostname()}\n")
        _open.append(os.open(file, os.O_RDWR))
        fcntl.flock(_open[-1], fcntl.LOCK_EX)

    return hold


def _case(what: str, prepare: Callable[[Path], object], *words: str, asked: tuple[str, ...] = RESUME) -> Case:
    return Case("Going on", what, asked, words, prepare)


def _nothing(place: Path) -> None:
    """The good table is enough."""


WITH_CONFIG = (*RESUME, "--config", "c.toml")

CASES = [
    _case("nothing unfinished", _nothing, "out holds no unfinished training", "give the --out folder"),
    _case("notes damaged", _noted("{"), "out/.command.json cannot be read", "type the command again"),
    _case("notes of another version", _noted("[]"), "another version wrote it", "type the command again"),
    _case("started elsewhere", _noted(folder="/elsewhere"), "started in /elsewhere", "type the command"),
    _case("code in the notes", _noted(network="mlp,os.system"), "uses code of somebody's", "type"),
    _case("bad option in the notes", _noted(method="limit-k"), "unknown method 'limit-k'", "'limit-l'"),
    _case("download in the notes", _noted(download=True), "cannot be read", "type the command"),
    _case(
        "two files of options",
        lambda place: (_noted()(place), (place / "c.toml").write_text("beta = 1")),
        "--resume brings all options", "leave out --config",
        asked=WITH_CONFIG,
    ),
    _case("resume nothing", _nothing, "--resume is empty", asked=("train", "--resume", "")),
    _case("checkpoints never heard of", _nothing, "--checkpoints is 'hourly'", "a number of seconds",
          asked=(*TRAIN, "--checkpoints", "hourly")),
    _case("checkpoint of a newer version", _newer_checkpoint, "by a newer noiselimit", "install that",
          asked=TRAIN),
    _case("folder in use", _held("out/.lock"), "noiselimit: out is in use by another process",
          asked=TRAIN),
    _case("audit in use", _held(".found.lock"), "found is in use by another process", "choose another folder",
          asked=("audit", "table.npz", "--out", "found")),
]  # fmt: skip
