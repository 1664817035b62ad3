"""The checkpoints beside the runs: which there are, which are whole, and which are needed no more."""

import dataclasses
import hashlib
import json
import math
import os
import re
import secrets
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from torch import Tensor

from noiselimit.engine.results import MEASURED, WHERE_KNOWN, RowState
from noiselimit.errors import InputError, Notice
from noiselimit.files import finite_json, name_for_libraries, open_regular, refuse_link
from noiselimit.runs.spec import RUN_FOLDER, RunSpec


def run_folder(value: Any) -> str:
    """The name of a run's folder, which leads nowhere else."""
    if not isinstance(value, str) or Path(value).name != value or not re.fullmatch(RUN_FOLDER, value):
        raise ValueError(f"{value!r} is no run's folder")
    return value


def count(value: Any) -> int:
    """A whole number ≥ 1."""
    if type(value) is not int or value < 1:
        raise ValueError(f"{value!r} is no number of epochs or steps")
    return value


def amount(value: Any) -> float:
    """A number ≥ 0."""
    if not _is_number(value) or value < 0:
        raise ValueError(f"{value!r} is no amount")
    return float(value)


def check_history(history: Any, epochs: int) -> None:
    """Every epoch must say all that training says of one."""
    if not isinstance(history, list) or len(history) != epochs:
        raise ValueError("its history has gaps")
    for number, record in enumerate(history, 1):
        if not isinstance(record, dict) or record.keys() != MEASURED | WHERE_KNOWN:
            raise ValueError("its history is not that of a training")
        if record["epoch"] != number:
            raise ValueError("its history has gaps")
        unknown = {name for name, value in record.items() if not _is_number(value)}
        if not unknown <= WHERE_KNOWN or any(record[name] is not None for name in unknown):
            raise ValueError("its history holds something else than numbers")


def check_tensors(tensors: Mapping[str, Tensor]) -> None:
    """Weights, a matrix and sums of probabilities are finite.

    What optimisers keep is squared and may be infinite; buffers are the affair of the network that has them.
    """
    for name, tensor in tensors.items():
        part = name.partition(".")[2].partition(".")[0]
        if part in ("buffers", "best_buffers"):
            continue
        bad = tensor.isnan() if part == "moments" else ~tensor.isfinite()
        if bad.any():
            raise ValueError(f"{name} holds NaN or infinity")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


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


NAME = re.compile(r"epoch-[0-9]{5,}-[0-9a-f]{32}\.safetensors")
TEMPORARY_NAME = re.compile(r"\.[0-9a-f]{16}\.tmp")
"""What files are called that are written here, by the stem epoch-N, and meanwhile."""
READ_AT_ONCE = 2**20  # bytes

_TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""As safetensors spells them. A buffer of another type has no place in a checkpoint."""


def write_tensors(
    folder: Path, stem: str, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> Path:
    """Write folder/stem-CHECKSUM.safetensors, and return it. What the disk refuses is an OSError."""
    folder.mkdir(exist_ok=True)
    temporary = folder / f".{secrets.token_hex(8)}.tmp"
    digest = _digest()
    try:
        with temporary.open("xb") as stream:
            for piece in _pieces(tensors, metadata):
                digest.update(piece)
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        path = folder / f"{stem}-{digest.hexdigest()}.safetensors"
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return path


def is_whole(path: Path) -> bool:
    """Whether the file holds the bytes that its name tells of; an OSError where that cannot be told.

    One that is longer or shorter than its header says is not read: a file with holes has no end in sight.
    """
    digest = _digest()
    with open_regular(path) as stream:
        try:
            with name_for_libraries(path) as known, safetensors.safe_open(known, "pt"):
                pass  # it has compared the sizes
        except safetensors.SafetensorError:
            return False
        while piece := stream.read(READ_AT_ONCE):
            digest.update(piece)
    return path.stem.endswith(f"-{digest.hexdigest()}")


def _digest() -> "hashlib.blake2b":
    return hashlib.blake2b(digest_size=16)


def _pieces(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """The bytes of a safetensors file: length of the header, header, tensors, the widest types first."""
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for name in order:
        tensor = tensors[name]
        start, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _TYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for name in order:
        flat = tensors[name].contiguous().reshape(-1)
        if flat.numel():
            yield memoryview(flat.view(torch.uint8).numpy().data)


FOLDER = ".checkpoints"
GENERATIONS = 2
"""Checkpoints that are kept of every run: the newest, and one to fall back on."""


Usable = Callable[[RunSpec, Entry], bool]
"""Whether a call can go on with a run from there."""


class Store:
    """Files in OUT/.checkpoints. Runs are looked up by hash in whatever file has them newest and whole.

    Who trains together changes from call to call, so a file is no matter of one block: it goes when none of
    its runs needs it, because their folders are there or because two newer files have them. What lies there
    under other names than ours is not touched, and a link is not followed.
    """

    def __init__(self, out: Path, usable: Usable) -> None:
        self.folder = out / FOLDER
        self._out = out
        self._usable = usable
        self._specs: dict[str, RunSpec] = {}
        self._files: dict[Path, dict[str, Entry]] = {}
        self._damaged: list[Path] = []
        self._unreadable: list[tuple[Path, str]] = []
        self._lock = threading.Lock()
        refuse_link(self.folder)
        for path in sorted(self.folder.glob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            if TEMPORARY_NAME.fullmatch(path.name):  # of a process that was killed
                with suppress(OSError):
                    path.unlink()
            elif NAME.fullmatch(path.name):
                self._look_at(path)

    def _look_at(self, path: Path) -> None:
        try:
            if is_whole(path):
                self._files[path] = read_entries(path)
            else:
                self._damaged.append(path)
        except Malformed:
            self._damaged.append(path)
        except OSError as error:  # which may pass: it stays
            self._unreadable.append((path, error.strerror or str(error)))

    def tell_of_damage(self, runs: Sequence[RunSpec]) -> None:
        """Say which files are damaged or cannot be read, and what that means for these runs."""
        if not runs or not (self._damaged or self._unreadable):
            return
        older = any(self.newest(spec) for spec in runs)
        then = "older checkpoints serve where there are any" if older else "training starts anew"
        if self._damaged:
            names = ", ".join(str(path) for path in self._damaged)
            are = "is damaged" if len(self._damaged) == 1 else "are damaged"
            warnings.warn(f"{names} {are}: {then}.", Notice, stacklevel=4)
        for path, reason in self._unreadable:
            warnings.warn(f"{path} cannot be read ({reason}): {then}.", Notice, stacklevel=4)

    def newest(self, spec: RunSpec) -> tuple[Path, Entry] | None:
        """The newest checkpoint of the run that the call can use."""
        found = [place for place in self._places(spec.hash) if self._usable(spec, place[1])]
        return max(found, key=lambda place: (place[1].epoch, place[0].name), default=None)

    def has(self, spec: RunSpec) -> bool:
        """Whether there is a checkpoint of the run, of use or not."""
        return bool(self._places(spec.hash))

    def others(self, specs: Iterable[RunSpec]) -> int:
        """How many other runs than these have checkpoints and no folder yet."""
        with self._lock:
            begun = {run for entries in self._files.values() for run in self._begun(entries)}
        return len(begun - {spec.hash for spec in specs})

    def _places(self, run: str) -> list[tuple[Path, Entry]]:
        with self._lock:
            return [(path, entries[run]) for path, entries in self._files.items() if run in entries]

    def _begun(self, entries: Mapping[str, Entry]) -> dict[str, Entry]:
        """Those whose runs have no folder."""
        return {
            run: entry
            for run, entry in entries.items()
            if not (self._out / entry.folder / "spec.json").is_file()
        }

    def load(self, spec: RunSpec, path: Path, entry: Entry) -> RowState:
        """What `newest` found."""
        try:
            return read_state(path, spec.hash, entry)
        except Malformed as error:
            raise InputError(f"{path} is no proper checkpoint ({error}): delete it and call again.") from None
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"{path} cannot be read ({reason}): see to that, or delete it.") from None

    def add(self, states: Sequence[tuple[RunSpec, RowState]]) -> None:
        """Write a checkpoint, and drop what it makes superfluous."""
        tensors, metadata = to_tensors(states)
        epoch = max(state.epoch for _, state in states)
        path = write_tensors(self.folder, f"epoch-{epoch:05d}", tensors, metadata)
        with self._lock:
            self._files[path] = {spec.hash: entry_of(spec, state) for spec, state in states}
            self._specs |= {spec.hash: spec for spec, _ in states}
            self._sweep()

    def sweep(self) -> None:
        """Drop what is needed no more, and the folder when it is empty."""
        with self._lock:
            self._sweep()
            with suppress(OSError):
                self.folder.rmdir()

    def _sweep(self) -> None:
        """What this call cannot use is kept for one that can, but pushes out nothing that this one can."""
        needed: set[Path] = set()
        places: dict[tuple[str, bool], list[tuple[int, str, Path]]] = {}
        for path, entries in self._files.items():
            for run, entry in self._begun(entries).items():
                if run in self._specs:
                    group = places.setdefault((run, self._usable(self._specs[run], entry)), [])
                    group.append((entry.epoch, path.name, path))
                else:
                    needed.add(path)
        needed |= {path for found in places.values() for *_, path in sorted(found)[-GENERATIONS:]}
        for path in [path for path in self._files if path not in needed]:
            del self._files[path]
            with suppress(OSError):
                path.unlink()
        while self._damaged:
            with suppress(OSError):
                self._damaged.pop().unlink()
