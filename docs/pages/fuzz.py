"""The table of `make fuzz` in docs/reliability.md, from results/fuzz.json."""

import json
from typing import Any

from pages.folders import RESULTS

FUZZ = RESULTS / "fuzz.json"


def stored() -> dict[str, Any]:
    """What the file holds."""
    content: dict[str, Any] = json.loads(FUZZ.read_text("utf-8"))
    return content


def blocks(results: dict[str, Any]) -> dict[str, str]:
    """The table and the limits, in words."""
    rows = ["| reader | files | read | refused in a sentence | anything else |", "| --- |" + " ---: |" * 4]
    for reader, counts in results["readers"].items():
        read, refused, other = (counts.get(name, 0) for name in ("read", "refused", "finding"))
        rows.append(f"| {reader} | {read + refused + other:,} | {read:,} | {refused:,} | {other:,} |")
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    limits = results["limits"]
    rows += [
        "",
        f"{results['cases']:,} files of seed {results['seed']} in {results['seconds'] / 60:.0f} minutes, at "
        f"low priority; none took more than "
        f"{results['most_processor_seconds_of_a_case']:.1f} s of a core or "
        f"{results['peak_memory_of_a_case'] / 2**20:.0f} MiB of memory ({versions}). A file may take "
        f"{limits['seconds']} s and {limits['resident_bytes'] >> 20} MiB of memory; asking for more than "
        f"{limits['address_space_bytes'] >> 30} GiB, even in vain, counts as too much.",
    ]
    return {"fuzz": "\n".join(rows)}
