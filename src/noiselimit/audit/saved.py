"""An audit that was saved: its tables, the data that it is about, and what they become."""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.audit.decisions import COLUMNS, DECISIONS, Decisions
from noiselimit.audit.neighbours import (
    NEIGHBOURS,
    comparable_features,
    explain,
    explain_value,
    nearest,
    squared_norms,
)
from noiselimit.audit.quality import Floats, Labels, Probabilities
from noiselimit.data.arrays import Rows
from noiselimit.data.catalogue import DATA_SETS, VARIABLE, load_data
from noiselimit.data.examples import DataSet
from noiselimit.data.reading import CACHE, Reading
from noiselimit.data.shards import find_shards, is_pattern
from noiselimit.errors import InputError, unknown
from noiselimit.features.cache import Embedding, FeatureCache, Features
from noiselimit.features.texts import BUILT_IN, TF_IDF
from noiselimit.tasks import CLASSIFICATION, Task

MADE = COLUMNS[1:-1]
"""Columns of a decision that files hold, besides the row."""
PLAIN_FEATURES = ("auto", "none", *BUILT_IN)
"""Features that need no code or files from elsewhere."""
KINDS: dict[Any, type] = {str | None: str, int | None: int, str: str, bool: bool, tuple[str, ...]: list}
"""JSON types of the fields of a `Reading`."""
NOT_STORED = frozenset({"cache", "progress", "keep_unlabelled", "stream"})
"""Fields of a `Reading` that belong to one call."""


@dataclass(frozen=True)
class Origin:
    """Where the data of an audit came from, and how they were read."""

    source: str
    """As the user typed it: a path, or the name of a data set."""
    reading: Reading
    path: str | None = None
    """The absolute path; None for a named data set."""
    data_dir: str | None = None
    """The absolute folder of named data sets."""
    noise: str | None = None
    """Noise that was added to the labels, for experiments."""
    fingerprint: str | None = None
    """See `fingerprint`; None for a named data set."""

    @classmethod
    def of(
        cls, source: str, data: DataSet, reading: Reading, data_dir: Path | None, noise: str | None
    ) -> "Origin":
        """The origin of data that were just read."""
        if source in DATA_SETS:
            parent = data_dir or os.environ.get(VARIABLE)
            return cls(source, reading, None, None if not parent else os.path.abspath(parent), noise)
        found = fingerprint(Path(source), [name for name, _ in data.shards] or data.examples.names)
        return cls(source, reading, os.path.abspath(source), None, noise, found)

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        reading = {name: value for name, value in vars(self.reading).items() if name not in NOT_STORED}
        lists = {name: list(value) for name, value in reading.items() if isinstance(value, tuple)}
        return {**vars(self), "reading": {**reading, **lists}}

    @staticmethod
    def from_json(value: dict[str, Any]) -> "Origin":
        """The inverse of `to_json`; ValueError for other values."""
        for each in (each for each in fields(Reading) if each.name not in NOT_STORED):
            found = value["reading"].get(each.name, each.default)
            if not (found is None and each.default is None) and type(found) is not KINDS[each.type]:
                raise ValueError(f"{each.name} is {found!r}")
            if isinstance(found, list) and not all(type(name) is str for name in found):
                raise ValueError(f"{each.name} is {found!r}")
        texts = {name: value[name] for name in ("path", "data_dir", "noise", "fingerprint")}
        if type(value["source"]) is not str or any(type(t) not in (str, type(None)) for t in texts.values()):
            raise ValueError("the origin of the data is no text")
        return Origin(value["source"], Reading(**value["reading"]), **texts)


@dataclass(frozen=True, eq=False)
class SavedAudit:
    """An audit that was written to a folder; `open_audit` returns it."""

    folder: Path
    table: pd.DataFrame
    """The table of label issues, one row per example in data order; labels are categories."""
    probabilities: Probabilities | None
    """[n, C], mapped from the file; None for regression."""
    class_names: tuple[str, ...]
    """For regression, all given and suggested values."""
    summary: dict[str, Any]
    """What `noiselimit audit --json` printed, without the paths."""
    origin: Origin
    embedding: Embedding | None = None
    """The model whose features of the pictures were the inputs."""
    moved_to: Path | None = None
    """Where the user says that the data are now."""
    shards: tuple[tuple[str, int], ...] = ()
    """See `DataSet`."""
    task: Task = CLASSIFICATION

    def probable_classes(self, row: int, most: int) -> list[tuple[int, float]]:
        """The most probable classes of a row with their probabilities, or the suggested and given value."""
        if self.probabilities is not None:
            found = np.asarray(self.probabilities[row])
            return [(int(c), float(found[c])) for c in np.argsort(-found, kind="stable")[:most]]
        wrong = float(np.nan_to_num(self.table["error_probability"].iloc[row], nan=1.0))
        suggested, given = int(self.table["predicted_label"].cat.codes.iloc[row]), int(self.given[row])
        both = [(suggested, wrong), *([(given, 1 - wrong)] if given not in (suggested, -1) else [])]
        return sorted(both, key=lambda each: -each[1])

    def require_label(self, label: str) -> None:
        """Raise InputError unless a row can get this label: a class, or any number for regression."""
        if self.task.has_classes:
            if label not in self.class_names:
                raise unknown("class", label, self.class_names)
            return
        with suppress(ValueError):
            if math.isfinite(float(label)):
                return
        raise InputError(f"the label is {label!r}; give a number.")

    @cached_property
    def given(self) -> Labels:
        """[n]: the given class numbers, −1 if missing."""
        return np.asarray(self.table["given_label"].cat.codes, np.int64)

    @property
    def data_columns(self) -> list[str]:
        """Columns of the table that come from the data: paths, texts and identifiers."""
        return [n for n in map(str, self.table) if n in ("path", "text") or n.startswith(("id_", "text_"))]

    @property
    def file_columns(self) -> list[str]:
        """Columns of the table that say where a row is in data of many files."""
        return ["file", "position"] if self.shards else []

    @property
    def place(self) -> Path | None:
        """Where the unchanged data are; None for a named data set. InputError if they moved or changed."""
        if self.origin.path is None:
            return None
        place = self.moved_to or Path(self.origin.path)
        if not place.exists() and not (is_pattern(place) and find_shards(place)):
            raise InputError(
                f"{place}: the data of {self.folder} are not there; if they moved, give the new place with "
                "--data (data=... in Python)."
            )
        names = self.table["path"].tolist() if "path" in self.table else None
        if fingerprint(place, [name for name, _ in self.shards] or names) != self.origin.fingerprint:
            raise InputError(
                f"{place}: the data have changed since the audit {self.folder}; audit them again, or bring "
                "the old ones back."
            )
        return place

    def load(self) -> DataSet:
        """Read the data that were audited again, with pictures as inputs; read once and then kept.

        Raises
        ------
        InputError
            If the data moved or changed; the message names the remedy.
        """
        return self._data

    def decisions(self, conflicts: str = "last") -> pd.DataFrame:
        """What reviewers decided: columns row, action, label, reviewer, time, note and conflict.

        If they disagree, the `last` decision counts, or that of the `majority`.
        """
        if not (self.folder / DECISIONS).is_file():  # opening it would create it
            return pd.DataFrame(columns=list(COLUMNS))
        made = Decisions(self.folder, read_only=True)
        try:
            return made.current(conflicts)  # type: ignore[arg-type]  # checked there
        finally:
            made.close()

    def decided_rows(self, conflicts: str = "last", *, flagged: bool = False) -> pd.DataFrame:
        """Return one line per row with a decision, or also per flagged row: what it is, and the decision."""
        made = self.decisions(conflicts).set_index("row")[list(MADE)]
        table = self.table
        chosen = table["row"].isin(made.index) | (table["is_label_issue"] & flagged)
        frame = table[chosen][["row", *self.file_columns, *self.data_columns, "given_label"]].astype(
            {"given_label": object}
        )
        frame["suggested_label"] = table["predicted_label"][chosen].astype(object)
        frame["error_probability"] = table["error_probability"][chosen]
        found = frame.join(made, on="row").reset_index(drop=True)
        return found.astype(dict.fromkeys(MADE, object)).where(found.notna(), None)

    def changes(
        self,
        decisions: pd.DataFrame | str | Path | None = None,
        *,
        fix: str | None = None,
        conflicts: str = "last",
    ) -> pd.DataFrame:
        """What `apply` would change: columns row, path (of images), given_label, action and label.

        The parameters are those of `apply`.
        """
        from noiselimit.audit.decision_files import read_decisions
        from noiselimit.audit.fixes import list_changes

        if decisions is not None:
            made = read_decisions(decisions, self)
        else:
            made = self.decisions(conflicts)
            if made.empty and fix is None:
                raise InputError(
                    f"{self.folder} holds no decisions: review it, name a file with --decisions, or take "
                    "what the audit flagged with --fix drop or --fix relabel."
                )
        return list_changes(self, made, fix)

    def apply(
        self,
        to: str | Path,
        decisions: pd.DataFrame | str | Path | None = None,
        *,
        fix: str | None = None,
        conflicts: str = "last",
        overwrite: bool = False,
    ) -> dict[str, int]:
        """Write a corrected copy of the data; the data themselves never change.

        Parameters
        ----------
        to
            The file or folder to write, of the same kind as the data. Class folders may also become a list
            of paths and labels: a .csv, .tsv or .parquet file.
        decisions
            A table with the columns row, action (keep, relabel, drop or unsure) and label, or a file of
            decisions. By default, those of the review in the audit's folder.
        fix
            What to do with flagged rows without a decision: 'drop', 'relabel', or None for nothing.
        conflicts
            If reviewers disagree: 'last' or 'majority'.
        overwrite
            Replace an existing file.

        Returns
        -------
        dict
            How many rows are in the copy, were dropped and were relabelled.
        """
        from noiselimit.audit.fixes import write_copy

        changes = self.changes(decisions, fix=fix, conflicts=conflicts)
        return write_copy(self, Path(to), changes, overwrite=overwrite)

    @cached_property
    def _data(self) -> DataSet:
        reading = self.origin.reading
        if reading.features not in PLAIN_FEATURES:  # a folder may not name code to run; texts are still shown
            reading = replace(reading, features=TF_IDF)
        reading = replace(reading, keep_unlabelled=True, cache=self.folder.parent / CACHE)
        where = self.origin.data_dir
        there = where if where is not None and Path(where).is_dir() else None
        data = load_data(self.place or self.origin.source, there, reading=reading)
        examples, given = data.examples, self.given
        if not self.task.has_classes:
            values = np.array([*map(float, self.class_names), np.nan])[given]
            if self.origin.noise is None and not np.array_equal(examples.labels, values, equal_nan=True):
                raise InputError(
                    f"{self.origin.source}: these are not the data of {self.folder}; run the audit again."
                )
            examples = replace(examples, labels=given, class_names=self.class_names)
        same = examples.class_names == self.class_names and len(examples) == len(given)
        if self.origin.noise is not None and same:
            clean = examples.labels if examples.clean_labels is None else examples.clean_labels
            examples = replace(examples, labels=given, clean_labels=clean)
        if not same or not np.array_equal(examples.labels, given):
            raise InputError(
                f"{self.origin.source}: these are not the data of {self.folder}; run the audit again."
            )
        return replace(data, examples=examples, test=None, validation=None)

    def features(self) -> Features:
        """Return vectors [n, d] whose distances say which examples look alike.

        These are the features that the audit trained on, from the cache or computed again; columns of a table
        with standardised numbers; or pixels of small pictures.
        """
        data = self.load()
        embedded = None if self.embedding is None else self._embed(data, self.embedding)
        inputs = data.examples.inputs if embedded is None else embedded
        if isinstance(inputs, Rows):
            raise InputError("Examples that look alike are not shown for data that do not fit in memory.")
        return comparable_features(data) if embedded is None else embedded

    def explain(self, row: int) -> str:
        """Say why a label is in doubt: how many models prefer another class, and what its neighbours are.

        Parameters
        ----------
        row : int
            Position in the data, from 0.

        Returns
        -------
        str
            One sentence. The first call reads the data.
        """
        if isinstance(row, bool) or not isinstance(row, Integral) or not 0 <= row < len(self.table):
            raise InputError(f"row is {row!r}: give a whole number from 0 to {len(self.table) - 1}.")
        if isinstance(self.load().examples.inputs, Rows):  # there is no memory to look for neighbours
            return self.explain_with(row, ())
        features, squares = self._searchable
        (near,) = nearest(features, squares, [row], NEIGHBOURS)
        return self.explain_with(row, near)

    def explain_with(self, row: int, near: Labels | Sequence[int]) -> str:
        """`explain` with the rows of the nearest examples, if you have them."""
        given, own = self.given, self.table.iloc[row]
        suggested = int(self.table["predicted_label"].cat.codes.iloc[row])
        against = own["models_against"]
        known: dict[str, Any] = {
            "against": np.nan if pd.isna(against) else float(against),
            "models": len(self.summary["judges"]),
            "neighbours": given[np.asarray(near, np.int64)].tolist(),
        }
        if not self.task.has_classes:
            return explain_value(self.class_names, **known)
        return explain(int(given[row]), suggested, self.class_names, **known)

    @cached_property
    def _searchable(self) -> tuple[Features, Floats]:
        features = self.features()
        return features, squared_norms(features)

    def _embed(self, data: DataSet, embedding: Embedding) -> Features | None:
        """Features of the pictures; None if they are not in the cache and the model is not built in."""
        from noiselimit.features.pictures import PictureFeatures, digest_pictures

        cache = self.folder.parent / CACHE
        if cache.is_dir():
            keys, store = digest_pictures(data.examples.inputs), FeatureCache(embedding, cache)
            if not len(store.missing(keys)):
                return store.read(keys)
        if embedding.name not in BUILT_IN:
            return None
        frozen = PictureFeatures(embedding.name, side=embedding.side)
        return np.asarray(frozen.apply(data, cache=cache).examples.inputs, np.float32)


def fingerprint(place: Path, names: Iterable[str] | None = None) -> str:
    """Digest of a file's bytes, and of names and sizes of pictures below the file's folder or the folder.

    A picture that is replaced by one of the same size goes unnoticed.
    """
    digest = hashlib.blake2b(digest_size=16)
    if place.is_file():
        with place.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    below = place if place.is_dir() else place.parent
    for name in names or ():
        try:
            tar, member, _ = name.partition(".tar/")
            size = os.stat(below / (f"{tar}.tar" if member else name)).st_size
        except OSError:
            size = -1
        digest.update(json.dumps([name, size]).encode())
    return digest.hexdigest()
