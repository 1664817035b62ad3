"""What lies in a folder: the same, bit by bit, as without any fault? Anything half under its final name?"""

import json
import re
from pathlib import Path

from noiselimit.engine.checkpoint_file import is_whole, read_entries

from noiselimit.errors import InputError
from noiselimit.runs.folder import load_run

Snapshot = dict[str, bytes]
"""Path in the folder → content."""

CIRCUMSTANCES = {
    "cohort",
    "cohort_seconds",
    "seconds",
    "cpu_seconds",
    "peak_memory",
    "date",
    "commit",
    "changed",
}
"""What may differ: how long it took, when it was, who trained beside whom, and whether somebody works on the
source meanwhile."""

UNFINISHED = re.compile(
    r"\.[a-z0-9_]{8}\.tmp(/|$)|/\.[0-9a-f]{16}\.tmp$|(^|/)\.((rows\.json|speed\.json|found)\.)?lock$"
)
"""Names of what is being written, and of locks."""


def files(folder: Path) -> list[Path]:
    """All in it, hidden ones as well; folders that are empty too."""
    return sorted(path for path in folder.rglob("*") if path.is_file() or not any(path.iterdir()))


def snapshot(folder: Path) -> Snapshot:
    """All that lies in the folder, without what may differ."""
    return {str(path.relative_to(folder)): content(path) for path in files(folder)}


def content(path: Path) -> bytes:
    """Of a file, without what may differ."""
    if path.is_dir():
        return b""
    if path.name == "speed.json":  # what was measured, without its figures
        measured = json.loads(path.read_text("utf-8"))
        return json.dumps([measured["finished"], *(each["row"] for each in measured["rows"])]).encode()
    if path.suffix == ".json":
        return json.dumps(_without(json.loads(path.read_text("utf-8"))), sort_keys=True).encode()
    if path.suffix == ".html":
        return re.sub(rb"<dt>Training time</dt><dd>[^<]*</dd>", b"", path.read_bytes())
    return path.read_bytes()


def _without(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without(inner) for name, inner in value.items() if name not in CIRCUMSTANCES}
    return [_without(inner) for inner in value] if isinstance(value, list) else value


def differences(found: Snapshot, expected: Snapshot) -> list[str]:
    """One line for each."""
    lacking = [f"{name} is lacking" for name in expected.keys() - found.keys()]
    added = [f"{name} should not be there" for name in found.keys() - expected.keys()]
    others = [f"{name} differs" for name in found.keys() & expected.keys() if found[name] != expected[name]]
    return sorted([*lacking, *added, *others])


def half_done(folder: Path, expected: Snapshot) -> list[str]:
    """What has its final name without being whole, in a folder that somebody was killed in."""
    wrong = []
    for path in files(folder):
        name = str(path.relative_to(folder))
        if UNFINISHED.search(name) or path.is_dir():
            continue
        if "/.checkpoints/" in name:
            wrong += [] if is_whole(path) else [f"{name} is not whole"]
        elif path.name in (".command.json", "speed.json"):
            json.loads(path.read_text("utf-8"))
        elif path.name == "rows.json":
            wrong += [f"{name}: {text}" for text in _other_rows(content(path), expected[name])]
        elif ".unfinished/" in name:  # nothing to compare it with: an audit's runs are not kept
            wrong += _unreadable(path.parent) if path.name == "spec.json" else []
        elif expected.get(name) != content(path):
            wrong.append(f"{name} has its name but not its content")
    return wrong


def _unreadable(folder: Path) -> list[str]:
    """What is wrong with a run folder that has its name."""
    try:
        run = load_run(folder)
        return [] if len(run.outputs) and run.weights.classifier else [f"{folder} is empty"]
    except InputError as error:
        return [str(error)]


def _other_rows(found: bytes, expected: bytes) -> list[str]:
    """What is different in the rows so far."""
    rows, whole = json.loads(found)["rows"], json.loads(expected)["rows"]
    pairs = zip(rows, whole[: len(rows)], strict=True)
    return [f"{row[name]} instead of {other[name]}" for row, other in pairs for name in row if row != other]


def interrupted_while(folder: Path) -> str:
    """What was being done when the process in this folder was killed, by what it left."""
    names = [str(path.relative_to(folder)) for path in files(folder)]
    if any(re.search(r"\.checkpoints/\.[0-9a-f]{16}\.tmp$", name) for name in names):
        return "writing a checkpoint"
    if any(re.search(r"-seed\d+-[0-9a-f]{16}\.[a-z0-9_]{8}\.tmp(/|$)", name) for name in names):
        return "writing a run folder"
    if any(re.search(r"\.[a-z0-9_]{8}\.tmp(/|$)", name) for name in names):
        return "writing a report, an audit or rows"
    return "training" if any(name.endswith(".lock") for name in names) else "elsewhere"


def can_go_on(folder: Path) -> bool:
    """Whether a run that has no folder yet has a checkpoint."""
    for place in folder.rglob(".checkpoints"):
        for path in place.glob("*.safetensors"):
            entries = read_entries(path).values() if is_whole(path) else ()
            if any(not (place.parent / each.folder).exists() for each in entries):
                return True
    return False
