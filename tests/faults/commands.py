"""Run a command in a process of its own, stop it just before a change on disk, and read what it left."""

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

TRAIN_LINE = (
    "train --data digits --noise uniform:0.4 --method limit-l,limit-l+init,ce,fw --beta 3 --epochs 5 "
    "--patience 2 --train-size 150 --batch-size 64 --network small-cnn --device cpu --quiet --out runs"
)
AUDIT_LINE = (
    "audit digits --noise uniform:0.2 --beta 3 --seed 0,1 --epochs 4 --network linear --device cpu --quiet "
    "--out found"
)
TRAIN, AUDIT = TRAIN_LINE.split(), AUDIT_LINE.split()
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
EVERY_EPOCH = ["--checkpoints", "0"]

LAUNCH = """
import atexit, os, signal, sys

change, number, note = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
root, seen, fsync = os.getcwd() + os.sep, 0, os.fsync
signal.signal(signal.SIGINT, signal.default_int_handler)


def count(*_):
    global seen
    seen += 1
    if seen == change:
        os.kill(os.getpid(), number)


def hook(event, arguments):
    changes = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree")
    if event in changes or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
        if isinstance(arguments[0], (str, os.PathLike)) and os.path.abspath(arguments[0]).startswith(root):
            count()


os.fsync = lambda handle: (count(), fsync(handle))
sys.addaudithook(hook)
atexit.register(lambda: open(note, "w").write(str(seen)))
sys.argv[1:] = sys.argv[4:]
from noiselimit.__main__ import main

main()
"""


def run(
    arguments: Sequence[str],
    folder: Path,
    *,
    change: int = 0,
    signal: int = 0,
    largest_file: int = resource.RLIM_INFINITY,
) -> "subprocess.CompletedProcess[str]":
    """Run `noiselimit ARGUMENTS` in the folder; it gets the signal just before the given change on disk."""
    folder.mkdir(exist_ok=True)
    note = folder.with_name(f"{folder.name}.changes")
    return subprocess.run(
        [sys.executable, "-c", LAUNCH, str(change), str(signal), str(note), *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY)),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def count_changes(folder: Path) -> int:
    """How many changes on disk the last command in the folder made."""
    return int(folder.with_name(f"{folder.name}.changes").read_text())


def snapshot(folder: Path) -> dict[str, bytes]:
    """Everything in the folder, hidden files too, without what may differ."""
    paths = [path for path in folder.rglob("*") if path.is_file() or not any(path.iterdir())]
    return {str(path.relative_to(folder)): _content(path) for path in paths}


def _content(path: Path) -> bytes:
    if path.is_dir():
        return b""
    if path.suffix == ".json":
        return json.dumps(_stable(json.loads(path.read_text("utf-8"))), sort_keys=True).encode()
    if path.suffix == ".html":
        return re.sub(rb"<dt>Training time</dt><dd>[^<]*</dd>", b"", path.read_bytes())
    return path.read_bytes()


def _stable(value: object) -> object:
    if isinstance(value, dict):
        changing = ("cohort", "cohort_seconds", "seconds")
        return {name: _stable(inner) for name, inner in value.items() if name not in changing}
    return [_stable(inner) for inner in value] if isinstance(value, list) else value
