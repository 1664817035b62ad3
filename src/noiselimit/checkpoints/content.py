"""What stands in a checkpoint: the states of several runs, by their hashes.

In the metadata of the header: `format`, the version of `noiselimit`, and `runs`, which says of every run what
`Entry` holds. Of each run the tensor HASH/run holds the rest as JSON, in bytes, as headers must stay small,
and its other tensors are HASH/NAME, with the names of `RowState.tensors`.
"""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from torch import Tensor

from noiselimit.cohort.row_state import RowState
from noiselimit.cohort.stopping import BestEpoch
from noiselimit.errors import InputError
from noiselimit.spec import RunSpec

FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """What the header says of a run."""

    folder: str
    """Name of the run's folder, once it has one."""
    epoch: int
    seconds: float
    averaged: bool
    torch: str
    """Version of torch that it was trained with."""


class Malformed(Exception):  # noqa: N818
    """The file is no checkpoint, or not one that we wrote."""


def entry_of(spec: RunSpec, state: RowState) -> Entry:
    """What the header says of a run in this state."""
    averaged = any(name.startswith("watched.") for name in state.tensors)
    return Entry(spec.folder_name, state.epoch, state.seconds, averaged, torch.__version__)


def to_tensors(states: Iterable[tuple[RunSpec, RowState]]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a checkpoint."""
    from noiselimit import __version__

    tensors: dict[str, Tensor] = {}
    runs = {}
    for spec, state in states:
        run = spec.hash
        runs[run] = dataclasses.asdict(entry_of(spec, state))
        text = json.dumps(
            {
                "step": state.step,
                "history": [dict(record) for record in state.history],
                "best": dataclasses.asdict(state.best),
                "capacity": state.capacity,
                "estimate": None if math.isinf(state.estimate) else state.estimate,
                "channels_last": state.channels_last,
            },
            allow_nan=False,
        )
        tensors[f"{run}/run"] = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
        tensors |= {f"{run}/{name}": tensor for name, tensor in state.tensors.items()}
    return tensors, {"format": str(FORMAT), "noiselimit": __version__, "runs": json.dumps(runs)}


def read_entries(path: Path) -> dict[str, Entry]:
    """Which runs a checkpoint that is whole holds; `Malformed` for anything else than a checkpoint."""
    try:
        with safetensors.safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
        written = int(metadata["format"])
        if written > FORMAT:
            raise InputError(
                f"{path} was written by a newer noiselimit: install that, or delete the file to train anew."
            )
        return {
            str(run): Entry(
                _plain_name(entry["folder"]),
                _whole(entry["epoch"], at_least=1),
                float(entry["seconds"]),
                bool(entry["averaged"]),
                str(entry["torch"]),
            )
            for run, entry in json.loads(metadata["runs"]).items()
        }
    except InputError:
        raise
    except (OSError, safetensors.SafetensorError, *_MALFORMED) as error:
        raise Malformed(str(error)) from None


def read_state(path: Path, run: str, entry: Entry) -> RowState:
    """The state of one of the runs; `Malformed` where it does not hold what it should."""
    try:
        with safetensors.safe_open(path, "pt") as file:
            prefix = f"{run}/"
            names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118  # no mapping
            tensors = {name.removeprefix(prefix): file.get_tensor(name) for name in names}
        told: Mapping[str, Any] = json.loads(tensors.pop("run").numpy().tobytes())
        history = tuple(told["history"])
        best = BestEpoch(**told["best"])
        if [record["epoch"] for record in history] != list(range(1, entry.epoch + 1)):
            raise ValueError("its history has gaps")
        if not 1 <= best.rose_at <= best.epoch <= entry.epoch:
            raise ValueError("its best epoch is none of its epochs")
        return RowState(
            epoch=entry.epoch,
            step=_whole(told["step"], at_least=1),
            history=history,
            best=best,
            capacity=float(told["capacity"]),
            estimate=math.inf if told["estimate"] is None else float(told["estimate"]),
            channels_last=bool(told["channels_last"]),
            tensors=tensors,
            seconds=entry.seconds,
        )
    except (OSError, safetensors.SafetensorError, *_MALFORMED) as error:
        raise Malformed(str(error)) from None


_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
"""What reading JSON that says anything at all may end in."""


def _whole(value: Any, *, at_least: int) -> int:
    if not isinstance(value, int) or value < at_least:
        raise ValueError(f"{value!r} is no such number")
    return value


def _plain_name(value: Any) -> str:
    """A name in the folder of runs, and no way out of it."""
    if not isinstance(value, str) or Path(value).name != value:
        raise ValueError(f"{value!r} is no folder's name")
    return value
