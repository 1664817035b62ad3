"""What checkpoints cost by default, for docs/reliability.md.

    python docs/measure_checkpoints.py [--device cuda]    → results/checkpoints.json, about four minutes

Trains for a minute and more with checkpoints as they come; adds up how long training stood still for them.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

RESULTS = Path(__file__).resolve().parent.parent / "results" / "checkpoints.json"
TRAININGS: dict[str, dict[str, Any]] = {
    "1 run of small-cnn": {"method": "limit-l", "beta": 3.0, "network": "small-cnn", "epochs": 250},
    "16 runs of small-cnn": {
        "method": "limit-l",
        "beta": [0.3, 1.0, 3.0, 10.0],
        "seed": [0, 1, 2, 3],
        "network": "small-cnn",
        "epochs": 30,
    },
    "1 run of resnet-18": {"method": "limit-g", "beta": 1.0, "network": "resnet-18", "epochs": 3},
}
"""On digits, whose epochs are short: how often there may be one is decided at the ends of epochs."""


def measure(device: str) -> dict[str, Any]:
    """The content of results/checkpoints.json."""
    import torch

    from noiselimit.training import circumstances

    return {
        "command": "python docs/measure_checkpoints.py",
        "trainings": [_measured(name, settings, device) for name, settings in TRAININGS.items()],
        **circumstances(torch.device(device)),
    }


def _measured(name: str, settings: dict[str, Any], device: str) -> dict[str, Any]:
    from noiselimit.checkpoints.keeper import CohortKeeper
    from noiselimit.checkpoints.store import Store
    from noiselimit.data.sources import load_data
    from noiselimit.grids import grid
    from noiselimit.training import train

    stood_still, sizes = [], []
    of_block, add = CohortKeeper.of_block, Store.add

    def timed_block(self: CohortKeeper, rows: Sequence[int]) -> Any:
        keep = of_block(self, rows)

        def timed(*arguments: Any) -> None:
            began = time.perf_counter()
            keep(*arguments)
            stood_still.append(time.perf_counter() - began)

        return timed

    def noted_add(self: Store, states: Any) -> None:
        add(self, states)
        sizes.append(max(file.stat().st_size for file in self.folder.glob("*.safetensors")))

    specs = grid(noise="uniform:0.4", patience=1000, **settings)
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(CohortKeeper, "of_block", timed_block),
        patch.object(Store, "add", noted_add),
    ):
        began = time.perf_counter()
        train(specs, load_data("digits"), out=Path(folder), device=device, threads=1)
        seconds = time.perf_counter() - began
    return {
        "training": name,
        "seconds": round(seconds, 2),
        "checkpoints": len(sizes),
        "bytes": max(sizes, default=0),
        "stood_still_seconds": round(sum(stood_still), 4),
        "longest_seconds": round(max(stood_still), 4),
    }


def stored() -> dict[str, Any]:
    """What was measured last."""
    content: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    return content


def block(results: dict[str, Any]) -> str:
    """The table of docs/reliability.md."""
    lines = [
        "| training on digits | seconds | checkpoints | size of one | stood still for them | longest |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in (each for each in results["trainings"] if each["checkpoints"]):
        share = each["stood_still_seconds"] / each["seconds"]
        lines.append(
            f"| {each['training']} | {each['seconds']:.0f} | {each['checkpoints']} | "
            f"{each['bytes'] / 1e6:.1f} MB | {100 * share:.2f} % | {each['longest_seconds']:.2f} s |"
        )
    without = "".join(
        f" {each['training']} ended after {each['seconds']:.0f} s, before its first was due."
        for each in results["trainings"]
        if not each["checkpoints"]
    )
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return "\n".join([*lines, "", f"Measured on {results['device']}, one thread ({versions}).{without}"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    chosen.out.write_text(json.dumps(measure(chosen.device), indent=1, ensure_ascii=False) + "\n", "utf-8")
