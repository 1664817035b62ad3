"""How long runs take on a device, from what `noiselimit bench` measured there.

At n = 1,000 most of an epoch of the MNIST network is its evaluation, on 12,000 validation and 10,000 test
examples, as the bench has it too: time does not fall in proportion to n.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from noiselimit.bench.counting import network_operations
from noiselimit.bench.result import read_bench
from noiselimit.errors import InputError
from noiselimit.methods import get_method

FILES = {"cuda": "bench-h200.json", "cpu": "bench-cpu.json"}
SET_UP_SECONDS = {"cuda": 12.0, "cpu": 2.0}
"""Of every cohort: kernels, a rehearsal, data. By the bench's row on set-up."""
RUN_SECONDS = 0.2
"""Of every run: scoring its examples twice, writing its folder."""


@dataclass(frozen=True)
class Load:
    """What a run does in an epoch."""

    network: str
    input_shape: tuple[int, ...]
    classes: int
    method: str
    train_examples: int
    evaluated_examples: int

    @property
    def operations(self) -> float:
        """Multiplications and additions of an epoch."""
        each = network_operations(self.network, self.input_shape, self.classes)
        networks = 2 if get_method(self.method).needs_predictor else 1
        return self.train_examples * networks * each.training + self.evaluated_examples * each.forward


@dataclass(frozen=True, eq=False)
class Speed:
    """A device, by its bench."""

    device_type: str
    device: str
    entries: Sequence[Mapping[str, Any]]
    """Trainings that were timed, at least one."""
    _known: dict[tuple[Load, int], float] = field(default_factory=dict)

    def words(self, here: str) -> str:
        """A sentence on whose times these are, where they are not those of the device that is here."""
        if here == self.device:
            return ""
        return f"Times are those of another device, {self.device}, by its bench: {here} was not measured."

    def scaled_from(self, load: Load) -> str | None:
        """The network whose times are scaled by operations for one that was not timed; None: it was.

        That of the epoch with the most similar number of them: small networks are far from what a device
        can do with large ones.
        """
        if self._timed(load.network):
            return None
        nearest = min(self.entries, key=lambda entry: abs(log(entry["operations"] / load.operations)))
        return str(nearest["network"])

    def epoch_seconds(self, load: Load, runs: int) -> float:
        """Of one run in a cohort of so many."""
        if (load, runs) not in self._known:
            self._known[load, runs] = self._epoch_seconds(load, runs)
        return self._known[load, runs]

    def _epoch_seconds(self, load: Load, runs: int) -> float:
        """Reckon it.

        By the sweeps over K and n where the network was swept; a method with one network takes half of what
        training adds. By the measurement of the same network, else of the most similar one, in proportion to
        operations, elsewhere.
        """
        swept = [entry for entry in self._timed(load.network) if entry.get("sweep") == "n"]
        if len({entry["k"] for entry in swept}) > 1:
            return self._swept(load, runs, swept)
        two = get_method(load.method).needs_predictor
        known = self._timed(self.scaled_from(load) or load.network)
        same = [entry for entry in known if get_method(entry["method"]).needs_predictor == two] or known
        nearest = max(same, key=lambda entry: (entry["k"] <= runs, entry["k"] if runs > 1 else -entry["k"]))
        return float(nearest["seconds"] * load.operations / nearest["operations"])

    def _timed(self, network: str) -> list[Mapping[str, Any]]:
        return [entry for entry in self.entries if entry["network"] == network]

    def _swept(self, load: Load, runs: int, swept: Sequence[Mapping[str, Any]]) -> float:
        few, many = min(entry["k"] for entry in swept), max(entry["k"] for entry in swept)
        by_k = sorted(
            (entry["k"], entry["seconds"])
            for entry in self._timed(load.network)
            if entry.get("sweep") == "k" and few <= entry["k"] <= many
        )
        at = np.interp(np.log(runs), np.log([k for k, _ in by_k]), [seconds for _, seconds in by_k])
        # How far a cohort of this size is from the largest towards a single run, 0 to 1.
        share = float((at - by_k[-1][1]) / (by_k[0][1] - by_k[-1][1]))

        def seconds(examples: float) -> float:
            ends = []
            for k in (few, many):
                points = sorted((entry["n"], entry["seconds"]) for entry in swept if entry["k"] == k)
                (n0, s0), (n1, s1) = points[0], points[-1]
                below = s0 - (s1 - s0) / (n1 - n0) * (n0 - examples)  # the line through the ends
                curve = np.interp(examples, [n for n, _ in points], [s for _, s in points])
                ends.append(max(below, 0.0) if examples < n0 else float(curve))
            return ends[1] + max(share, 0.0) * (ends[0] - ends[1])

        whole = seconds(load.train_examples)
        if get_method(load.method).needs_predictor:
            return whole
        return (whole + seconds(0)) / 2


def find_speed(device_type: str, folders: Sequence[Path], bench: Path | None = None) -> Speed | None:
    """By the bench file named, else by the first of the device's kind in these folders; None if none is."""
    name = FILES.get(device_type, FILES["cpu"])
    path = bench or next((folder / name for folder in folders if (folder / name).is_file()), None)
    if path is None:
        return None
    content = read_bench(path)
    sound = [entry for entry in [*content["rows"], *content["points"]] if "failure" not in entry]
    timed = [entry for entry in sound if entry.get("operations") and entry.get("seconds")]
    if not timed:
        raise InputError(f"{path} has no timed training: measure with 'noiselimit bench'.")
    return Speed(content.get("device_type") or device_type, content["device"], timed)
