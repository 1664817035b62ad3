"""The file of a comparison: written anew after every row, gone on with by the next call."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from noiselimit.audit.plan import DEFAULT, FAST
from noiselimit.bench.detection.how import How
from noiselimit.bench.detection.problem import Problem
from noiselimit.cohort.device import find_device
from noiselimit.errors import InputError
from noiselimit.files import make_folder
from noiselimit.machine import available_cores
from noiselimit.opening import read_small_text
from noiselimit.training import circumstances

KIND = "noiselimit bench detection"
SCHEMA = 1
JUDGING = 3
"""Raised where audits with the same settings come to judge otherwise. 2: examples seen in training are
brought to the scale of those held out. 3: only where they are doubted less than those, so memorised."""
Content = dict[str, Any]
REMEDY = "name one that 'noiselimit bench detection' wrote"


def begin_content(how: How, *, quick: bool) -> Content:
    """A file without rows. What stands in it is what all its rows have in common."""
    device = find_device(how.device)
    return {
        "kind": KIND,
        "schema": SCHEMA,
        **circumstances(device),
        "device_type": device.type,
        "threads": available_cores() if how.threads is None else how.threads,
        "quick": quick,
        "kernels": how.kernels,
        "graphs": how.graphs,
        "epochs": how.epochs,
        "network": how.network,
        "plans": current_plans(),
        "finished": False,
        "rows": [],
    }


def current_plans() -> dict[str, Any]:
    """What our audits are set to, as JSON has it: rows of other settings are rows of another audit."""
    plans = {"default": asdict(DEFAULT), "fast": asdict(FAST), "judging": JUDGING}
    found: dict[str, Any] = json.loads(json.dumps(plans))
    return found


def read_detection(path: Path) -> Content:
    """What such a file holds."""
    if not path.is_file():
        raise InputError(f"{path} is no file: {REMEDY}.")
    try:
        content = json.loads(read_small_text(path))
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise InputError(f"{path} holds no comparison: {REMEDY}.")
    if content.get("schema") != SCHEMA:
        raise InputError(f"{path} was written by another version of noiselimit: measure again.")
    rows = content.get("rows")
    if not isinstance(rows, list) or not all(_is_row(row) for row in rows):
        raise InputError(f"{path} was altered: measure again.")
    return content


def _is_row(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("problem"), dict)
        and {"data", "noise", "seed", "examples"} <= row["problem"].keys()
        and isinstance(row.get("methods"), dict)
        and all(isinstance(entry, dict) for entry in row["methods"].values())
    )


def open_content(path: Path, how: How, *, quick: bool) -> Content:
    """What to add rows to: the file's content, if it is there and of these circumstances, else a new one."""
    if path.is_dir():
        raise InputError(f"out is {path}, a folder: name a file.")
    fresh = begin_content(how, quick=quick)
    if not path.exists():
        make_folder(path.parent)
        return fresh
    older = read_detection(path)
    for name in fresh.keys() - {"rows", "finished"}:
        if older.get(name) != fresh[name]:
            raise InputError(
                f"out is {path}, whose rows were measured with {name} {_short(older.get(name))} and not "
                f"{_short(fresh[name])}: name another file."
            )
    return older


def is_measured(content: Content, problem: Problem) -> bool:
    """Whether the row is there and whole."""
    return any(row_key(row) == problem.key and not row["failures"] for row in content["rows"])


def row_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """As `Problem.key`."""
    problem = row["problem"]
    return problem["data"], problem["noise"], problem["seed"], problem["examples"]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
