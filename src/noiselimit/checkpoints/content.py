"""What stands in a checkpoint: the states of several runs, by their hashes.

In the metadata of the header: `format` and `runs`, which says of every run what `Entry` holds. Of each run
the tensor HASH/run holds the rest as JSON, in bytes, as headers must stay small, and its other tensors are
HASH/NAME, with the names of `RowState.tensors`.
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

from noiselimit.checkpoints.checks import amount, check_history, check_tensors, count, run_folder
from noiselimit.cohort.row_state import RowState
from noiselimit.errors import InputError
from noiselimit.finite import finite_json
from noiselimit.opening import name_for_libraries
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
    tensors: dict[str, Tensor] = {}
    runs = {}
    for spec, state in states:
        run = spec.hash
        runs[run] = dataclasses.asdict(entry_of(spec, state))
        text = json.dumps(
            {
                "step": state.step,
                "history": [dict(record) for record in state.history],
                "capacity": state.capacity,
                "estimate": None if math.isinf(state.estimate) else state.estimate,
                "channels_last": state.channels_last,
            },
            allow_nan=False,
        )
        tensors[f"{run}/run"] = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
        tensors |= {f"{run}/{name}": tensor for name, tensor in state.tensors.items()}
    return tensors, {"format": str(FORMAT), "runs": json.dumps(runs)}


def read_entries(path: Path) -> dict[str, Entry]:
    """Which runs a checkpoint holds; `Malformed` if it is none. An OSError says nothing of it."""
    try:
        with name_for_libraries(path) as known, safetensors.safe_open(known, "pt") as file:
            metadata = file.metadata() or {}
        written = int(metadata["format"])
        if written > FORMAT:
            raise InputError(
                f"{path} was written by a newer noiselimit: install that, or delete the file to train anew."
            )
        told: Mapping[str, Any] = finite_json(metadata["runs"])
        return {
            run: Entry(
                run_folder(entry["folder"]),
                count(entry["epoch"]),
                amount(entry["seconds"]),
                entry["averaged"] is True,
                str(entry["torch"]),
            )
            for run, entry in told.items()
        }
    except InputError:
        raise
    except (safetensors.SafetensorError, *_MALFORMED) as error:
        raise Malformed(str(error)) from None


def read_state(path: Path, run: str, entry: Entry) -> RowState:
    """The state of one of the runs; `Malformed` where it does not hold what training wrote."""
    try:
        with name_for_libraries(path) as known, safetensors.safe_open(known, "pt") as file:
            prefix = f"{run}/"
            names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118  # no mapping
            tensors = {name.removeprefix(prefix): file.get_tensor(name) for name in names}
        told: Mapping[str, Any] = finite_json(tensors.pop("run").numpy().tobytes().decode())
        check_history(told["history"], entry.epoch)
        check_tensors(tensors)
        return RowState(
            epoch=entry.epoch,
            step=count(told["step"]),
            history=tuple(told["history"]),
            capacity=amount(told["capacity"]),
            estimate=math.inf if told["estimate"] is None else amount(told["estimate"]),
            channels_last=told["channels_last"] is True,
            tensors=tensors,
            seconds=entry.seconds,
        )
    except (safetensors.SafetensorError, *_MALFORMED) as error:
        raise Malformed(str(error)) from None


_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)
"""What may come of JSON that says anything at all, and of tensors of any type."""
