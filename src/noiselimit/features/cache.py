"""Features on disk, so that a picture or text is embedded once.

A cache folder has one sub-folder per model, weights and input size. It holds a manifest and parts: .npz files
with `keys` [m, 16], digests of the pictures or texts, and `features` [m, d]. A part is written atomically, so
a killed process loses at most one. Several processes may add parts at the same time.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Rows, npy_header
from noiselimit.data.reading import readable, reason_of
from noiselimit.dotted import is_dotted
from noiselimit.errors import InputError
from noiselimit.files import atomic_file, make_folder, read_small_text, write_json
from noiselimit.machine import available_memory
from noiselimit.registry import Registry

FEATURES: Registry[Callable[..., Any]] = Registry(
    "features", "noiselimit.features", "noiselimit.features.FEATURES", {}, callable, "a function"
)
"""Embedders of others: functions of pictures [n, 3, side, side] or of a list of texts that return [n, d]."""

MANIFEST = "manifest.json"
VERSION = 1
KEY_BYTES = 16
COPIES, MOST_OF_MEMORY = 4, 0.8
"""How often an audit needs features in memory, and the share of the free memory that these may take."""

Keys = npt.NDArray[np.uint8]
Features = npt.NDArray[np.float32]


def features_name(features: Any) -> str:
    """The name of features that a user gives as a name or a function."""
    if not isinstance(features, str) and not callable(features):
        raise InputError(
            f"features is {features!r}: give a function, or a name such as 'efficientnet-lite0'."
        )
    return FEATURES.name_of(features)


def is_own(name: str) -> bool:
    """Whether it is a user's function, by its dotted path, or one of another package."""
    return name in FEATURES or (is_dotted(name) and name.partition(":")[0] not in ("timm", "transformers"))


@dataclass(frozen=True)
class Embedding:
    """Which model made features; a run keeps it, to embed new inputs in the same way."""

    name: str
    """As the user gave it."""
    digest: str
    """Of the weights or, for a function, of what it makes of some inputs."""
    dimension: int
    side: int = 0
    """Height and width of pictures; 0 for texts."""

    def __post_init__(self) -> None:
        if not all(isinstance(text, str) for text in (self.name, self.digest)):
            raise ValueError("a model has a name and a digest")
        if not all(type(number) is int and number >= 0 for number in (self.dimension, self.side)):
            raise ValueError("sizes are whole numbers")

    def require_same(self, other: "Embedding") -> None:
        """Raise InputError if another model has the same name, such as another version of it."""
        if (self.digest, self.dimension) != (other.digest, other.dimension):
            raise InputError(
                f"features '{self.name}' have other weights than in training: install that version, or train "
                "again."
            )

    def __str__(self) -> str:
        return f"{self.name} at {self.side} pixels" if self.side else self.name


class FeatureCache:
    """Features by the digest of their picture or text, in a folder or, if that is None, in memory."""

    def __init__(self, embedding: Embedding, folder: Path | None = None) -> None:
        self._keys = [np.empty((0, KEY_BYTES), np.uint8)]
        self._parts: list[Path | Features] = [np.empty((0, embedding.dimension), np.float32)]
        self._dimension = embedding.dimension
        self._folder = None if folder is None else _open_folder(folder, embedding)
        if self._folder is not None:
            for path in sorted(self._folder.glob("*.npz")):
                self._keys.append(_load(path, "keys"))
                self._parts.append(path)

    def missing(self, keys: Keys) -> npt.NDArray[np.int64]:
        """Which of these digests [n, 16] are not here, in order; of equal ones only the first."""
        distinct, first = np.unique(_as_values(keys), return_index=True)
        return np.sort(first[~np.isin(distinct, _as_values(np.concatenate(self._keys)))])

    def add(self, keys: Keys, features: Features) -> None:
        """Add features [m, d] of inputs with these digests [m, 16]."""
        part: Path | Features = features
        if self._folder is not None:
            part = self._folder / f"{hashlib.blake2b(keys.tobytes(), digest_size=16).hexdigest()}.npz"
            with atomic_file(part) as temporary, temporary.open("wb") as file:
                np.savez(file, keys=keys, features=features)
        self._keys.append(keys)
        self._parts.append(part)

    def read(self, keys: Keys) -> Features:
        """Features [n, d] of inputs with these digests [n, 16], all of which must be here.

        Those from a folder are mapped from a file without a name, so that they need no memory of their own.
        If they and their copies in an audit would not fit in memory all the same, they are `Rows`.
        """
        known = _as_values(np.concatenate(self._keys))
        order = np.argsort(known)
        places = order[np.searchsorted(known, _as_values(keys), sorter=order)]
        shape = len(keys), self._dimension
        if self._folder is None:
            found = np.empty(shape, np.float32)
            for rows, features in self._found(places):
                found[rows] = features
            return found
        free = available_memory()
        if free is not None and COPIES * 4 * len(keys) * self._dimension > MOST_OF_MEMORY * free:
            name = hashlib.blake2b(keys.tobytes(), digest_size=16).hexdigest()
            path = self._folder / f"rows-{name}" / "features.npy"
            if not path.exists():
                with atomic_file(path) as temporary, temporary.open("wb") as file:
                    header = npy_header(shape)
                    file.write(header)
                    self._fill(file, len(header), places)
            return Rows(path, shape)  # type: ignore[return-value]  # what uses features takes both
        with TemporaryFile(dir=self._folder) as file:
            self._fill(file, 0, places)
            file.flush()
            return np.asarray(np.memmap(file, np.float32, "r+", shape=shape))

    def _fill(self, file: Any, start: int, places: npt.NDArray[np.int64]) -> None:
        for rows, features in self._found(places):
            for row, values in zip(rows.tolist(), features, strict=True):
                file.seek(start + row * values.nbytes)
                file.write(values.data)

    def _found(self, places: npt.NDArray[np.int64]) -> Iterator[tuple[npt.NDArray[np.int64], Features]]:
        """(rows of `places`, their features) part by part; places count through all parts."""
        stop = 0
        for part, keys in zip(self._parts, self._keys, strict=True):
            start, stop = stop, stop + len(keys)
            rows = np.flatnonzero((start <= places) & (places < stop))
            if len(rows):
                features = _load(part, "features") if isinstance(part, Path) else part
                yield rows, features[places[rows] - start]


def _as_values(keys: Keys) -> npt.NDArray[np.void]:
    """Digests [n, 16] as [n] values that can be sorted."""
    return np.ascontiguousarray(keys).view(np.dtype((np.void, KEY_BYTES)))[:, 0]


def check_features(name: str, found: Features, rows: int, dimension: int | None = None) -> Features:
    """What an embedder returned for so many inputs; InputError unless it is [rows, dimension] and finite."""
    if found.ndim != 2 or len(found) != rows or found.shape[1] != (dimension or max(found.shape[1], 1)):
        shapes = f"{list(found.shape)}: return [{rows}, {dimension or 'd'}]"
        raise InputError(f"features '{name}' return shape {shapes}.")
    if not np.isfinite(found).all():
        raise InputError(f"features '{name}' hold NaN or infinity: use other features.")
    return found


def require_package(name: str, package: str) -> None:
    """InputError unless the package of these features is installed; its module has underscores."""
    if find_spec(package.replace("-", "_")) is None:
        remedy = f"run `pip install {package}`"
        raise InputError(f"features '{name}' need a package that is not installed: {remedy}.")


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn any error of a library that loads and tries a model into one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = f"features '{name}' cannot be loaded ({reason_of(error)})"
        raise InputError(f"{reason}: check the name and --resize, or download the model first.") from error


@contextmanager
def calling(name: str) -> Iterator[None]:
    """Turn any error of a user's function into one sentence."""
    try:
        yield
    except Exception as error:
        raise InputError(f"features '{name}' fail ({reason_of(error)}): fix or replace them.") from error


def _load(path: Path, name: str) -> npt.NDArray[Any]:
    """One array of a part."""
    with readable(path, "delete this part of the cache of features"), path.open("rb") as file:
        array: npt.NDArray[Any] = np.load(file, allow_pickle=False)[name]
    return array


def _open_folder(cache: Path, embedding: Embedding) -> Path:
    """The sub-folder for this model, with a manifest that says so."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", embedding.name)[-60:]
    folder = make_folder(cache / f"{name}-{embedding.side}-{embedding.digest[:16]}")
    wanted = {"version": VERSION, **asdict(embedding)}
    path = folder / MANIFEST
    if not path.exists():
        write_json(path, wanted)
    with readable(folder, "delete the folder"):
        if json.loads(read_small_text(path)) != wanted:
            raise ValueError("it holds other features")
    return folder
