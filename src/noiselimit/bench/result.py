"""The file that a bench writes: one JSON object that says what it is."""

import json
from pathlib import Path
from typing import Any

from noiselimit.errors import InputError
from noiselimit.files import make_folder
from noiselimit.opening import read_small_text

KIND = "noiselimit bench"
SCHEMA = 1
LARGEST = 1e300
"""Of a number in the file; beyond it ratios are none."""
NUMBERS = ("seconds", "ratio", "set_up_seconds", "k", "n", "peak_memory", "tflop_per_s", "gb_per_s")


def read_bench(path: Path) -> dict[str, Any]:
    """The content of a bench file, checked as far as the tables need it."""
    if not path.is_file():
        raise InputError(f"{path} is no file: name one that 'noiselimit bench' wrote.")
    try:
        content = json.loads(read_small_text(path))
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise InputError(f"{path} is no bench file: name one that 'noiselimit bench' wrote.")
    if content.get("schema") != SCHEMA:
        raise InputError(
            f"{path} was written by another version of noiselimit (schema {content.get('schema')}, this one "
            f"reads {SCHEMA}): measure again."
        )
    if not _whole(content):
        raise InputError(f"{path} was altered: measure again.")
    return content


def check_target(path: Path, *, quick: bool = False) -> None:
    """Say before anything is measured that the file cannot be written, or holds what should be kept."""
    if path.is_dir():
        raise InputError(f"out is {path}, a folder: name a file.")
    if path.exists():
        try:
            older = read_bench(path)
        except InputError:
            raise InputError(
                f"out is {path}, which exists and is no bench file of this version: name another one."
            ) from None
        if quick and not older.get("quick"):
            raise InputError(
                f"out is {path}, a full measurement that a quick one would replace: "
                "name another file with --out."
            )
    make_folder(path.parent)


def _whole(content: dict[str, Any]) -> bool:
    """Whether everything is there, of its type, that a comparison or a table looks at."""
    lists = [content.get("rows"), content.get("points")]
    if not all(isinstance(each, list) for each in lists) or not isinstance(content.get("device"), str):
        return False
    rows, points = lists
    entries = [*(rows or []), *(points or [])]
    return (
        all(isinstance(entry, dict) for entry in entries)
        and all(isinstance(row.get("row"), str) for row in rows or [])
        and all(isinstance(point.get("sweep"), str) for point in points or [])
        and all(_numbers(entry) for entry in entries)
        and all(_notices(entry) for entry in entries)
        and isinstance(content.get("changed"), bool | None)
        and all(isinstance(content.get(name), dict | None) for name in ("ceilings", "versions"))
        and all(isinstance(content.get(name), str | None) for name in ("commit", "date"))
        and _numbers(content.get("ceilings") or {})
    )


def _numbers(entry: dict[str, Any]) -> bool:
    return all(
        entry.get(name) is None or (type(entry[name]) in (int, float) and -LARGEST < entry[name] < LARGEST)
        for name in NUMBERS
    )


def _notices(entry: Any) -> bool:
    """Whether they are texts, those of the cohorts that a row is the best of too."""
    if not isinstance(entry, dict):
        return False
    notices, tried = entry.get("notices", []), entry.get("tried", [])
    if not isinstance(notices, list) or not isinstance(tried, list):
        return False
    return all(isinstance(notice, str) for notice in notices) and all(_notices(each) for each in tried)
