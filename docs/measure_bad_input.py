"""What is said about every bad input of the tests: `python docs/measure_bad_input.py`; a minute.

Writes results/bad-input.json, from which docs/generate.py makes the table in docs/reliability.md.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "bad-input.json"


def measure() -> list[dict[str, str]]:
    """One object per case: its key, what was typed and what was said."""
    sys.path.insert(0, str(ROOT / "tests" / "bad_input"))
    from all_cases import IN_THE_TABLE
    from asked import ask, stable, write_good, write_run

    os.environ.pop("NOISELIMIT_DATA", None)
    home = Path.cwd()
    rows = []
    with tempfile.TemporaryDirectory() as good:
        write_good(Path(good))
        run = write_run(Path(good))
        for case in IN_THE_TABLE:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                write_good(Path(folder))
                if case.needs_run:
                    shutil.copytree(run, "run")
                case.prepare(Path(folder))
                rows.append({"key": case.key, "asked": case.shown, "message": stable(ask(case).message)})
                os.chdir(home)
    return rows


def stored() -> list[dict[str, str]]:
    """What results/bad-input.json holds."""
    found: list[dict[str, str]] = json.loads(RESULTS.read_text("utf-8"))
    return found


def blocks(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The tables, one for each group."""
    parts = []
    for group, members in groupby(rows, key=lambda row: row["key"].partition(": ")[0]):
        parts += [f"### {group}", "", "| what | message |", "| --- | --- |"]
        parts += [f"| {_cell(row['key'].partition(': ')[2])} | {_cell(row['message'])} |" for row in members]
        parts.append("")
    parts.append(f"{len(rows)} bad inputs.")
    return {"bad-input": "\n".join(parts)}


def _cell(text: str) -> str:
    """The text in a cell of a Markdown table, where nothing in it is markup."""
    for mark in ("\\", "|", "<", ">", "*", "_", "`", "[", "]", "~", "#"):
        text = text.replace(mark, f"\\{mark}")
    return text


if __name__ == "__main__":
    RESULTS.write_text(json.dumps(measure(), indent=1, ensure_ascii=False) + "\n", "utf-8")
