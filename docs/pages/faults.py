"""The tables of `make faults` in docs/reliability.md, from results/faults.json."""

import json
from collections import Counter
from typing import Any

from pages.folders import RESULTS

FAULTS = RESULTS / "faults.json"
DOING = (
    "training",
    "writing a checkpoint",
    "writing a run folder",
    "writing a report, an audit or rows",
    "elsewhere",
)


def stored() -> dict[str, Any]:
    """What the file holds."""
    content: dict[str, Any] = json.loads(FAULTS.read_text("utf-8"))
    return content


def blocks(results: dict[str, Any]) -> dict[str, str]:
    """Kills by what was being done, the other faults, and what was compared."""
    return {"faults": "\n".join([*_kills(results), "", *_others(results), "", _words(results)])}


def _kills(results: dict[str, Any]) -> list[str]:
    counts: Counter[tuple[str, str]] = Counter()
    for entry in results["kills"]:
        counts[entry["while"], entry["command"]] += entry["number"]
    commands = list(dict.fromkeys(entry["command"] for entry in results["kills"]))
    rows = [
        "| killed while | " + " | ".join(f"`{name}`" for name in commands) + " |",
        "| --- |" + " ---: |" * len(commands),
    ]
    for doing in DOING:
        cells = [str(counts[doing, command]) for command in commands]
        rows.append(f"| {doing} | " + " | ".join(cells) + " |")
    totals = [sum(counts[doing, command] for doing in DOING) for command in commands]
    return [*rows, "| together | " + " | ".join(map(str, totals)) + " |"]


def _others(results: dict[str, Any]) -> list[str]:
    rows = ["| other fault | times |", "| --- | ---: |"]
    return [*rows, *(f"| {name} | {number} |" for name, number in results["others"].items())]


def _words(results: dict[str, Any]) -> str:
    kills = sum(entry["number"] for entry in results["kills"])
    when: Counter[str] = Counter()
    for entry in results["kills"]:
        when[entry["when"]] += entry["number"]
    compared, versions = results["compared"], results["versions"]
    moments = ", ".join(f"{number} {name}" for name, number in when.items())
    found = len(results["findings"])
    late = " and ".join(f"{number} {name}" for name, number in results.get("missed", {}).items())
    missed = f" {late} came too late, and are not among these." if late else ""
    return (
        f"{kills} kills ({moments}) of seed {results['seed']}; {compared['folders']} times a command went on "
        f"to its end and {compared['files']:,} files ({compared['bytes'] / 1e6:.0f} MB) were compared; "
        f"{'nothing was' if not found else f'{found} things were'} found that should not be. The longest end "
        f"after a signal took {results['longest_end_after_a_signal_seconds']:.1f} s.{missed} All of it took "
        f"{results['seconds'] / 60:.0f} minutes on "
        f"{results['system']} "
        f"({', '.join(f'{name} {version}' for name, version in versions.items())})."
    )
