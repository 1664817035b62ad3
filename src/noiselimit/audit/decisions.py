"""Decisions about labels, in an SQLite file in the audit's folder.

Every decision is a row and no row ever changes. Undo is a row too, which names the row that it undoes; redo
is an undo of the undo. What was acknowledged is on the disk.
"""

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from noiselimit.errors import InputError, unknown

DECISIONS = "decisions.sqlite"
REAUDIT = "reaudit.parquet"
"""What an audit with the decisions found; see `noiselimit.review.reaudit`."""
DECISION_FILES = (DECISIONS, f"{DECISIONS}-wal", f"{DECISIONS}-shm", REAUDIT)
"""Files of a review in an audit's folder, with those that SQLite keeps there while it is open."""
ACTIONS = ("keep", "relabel", "drop", "unsure")
COLUMNS = ("row", "action", "label", "reviewer", "time", "note", "conflict")
"""Columns of the table of what counts."""
UNDO = "undo"
VERSION = 1
APPLICATION = 0x4E4C5256  # NLRV
LONGEST_NAME, LONGEST_TEXT = 80, 10_000
BUSY_SECONDS = 20.0
LARGEST_ROW = 2**62

Conflicts = Literal["last", "majority"]

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    step INTEGER NOT NULL,            -- shared by the rows that were decided at once
    time TEXT NOT NULL,               -- UTC
    reviewer TEXT NOT NULL,
    row INTEGER NOT NULL,             -- of the audit's table
    action TEXT NOT NULL,             -- keep, relabel, drop, unsure; or undo
    label_before TEXT,
    label_after TEXT,
    note TEXT NOT NULL,
    drawn INTEGER NOT NULL,           -- 1 if the row was a random check, not part of the order
    undoes INTEGER REFERENCES decisions (id)
);
CREATE INDEX IF NOT EXISTS decisions_row ON decisions (row);
CREATE INDEX IF NOT EXISTS decisions_reviewer ON decisions (reviewer, id);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Decision:
    """What to do with the label of one row."""

    row: int
    action: str
    """keep (the label is right), relabel, drop (the example is of no class) or unsure."""
    label: str | None = None
    """The right class, for relabel only."""
    before: str | None = None
    """The given class."""
    note: str = ""
    drawn: bool = False
    """Whether the row came up as a random check; `noiselimit.review.estimate` relies on it."""

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise unknown("action", self.action, ACTIONS)
        if (self.label is None) == (self.action == "relabel"):
            raise InputError(
                f"row {self.row}: give a label with the action relabel, and with no other action."
            )
        if not 0 <= self.row < LARGEST_ROW:
            raise InputError(f"row {self.row}: rows start at 0; correct the number.")
        for text in (self.label, self.before, self.note):
            _check_text(text or "", LONGEST_TEXT)


class Entry(NamedTuple):
    """A row of the file."""

    id: int
    step: int
    time: str
    reviewer: str
    row: int
    action: str
    before: str | None
    after: str | None
    note: str
    drawn: int
    undoes: int | None


class Decisions:
    """The decisions about one audit; threads and processes may share them.

    Parameters
    ----------
    folder
        The audit's folder. The file is created there if needed.
    read_only
        Whether nothing is written, not even the files that SQLite keeps while it is open.
    """

    def __init__(self, folder: Path | str, *, read_only: bool = False) -> None:
        self.path = Path(folder) / DECISIONS
        self._lock = threading.RLock()
        self._read_only = read_only
        mode = "rwc"
        if read_only:  # without a log beside it, nobody has the file open
            mode = "ro" if self.path.with_name(f"{DECISIONS}-wal").exists() else "ro&immutable=1"
        with _readable_errors(self.path):
            self._file = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}",
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
        try:
            with _readable_errors(self.path):
                self._prepare()
        except BaseException:
            self._file.close()
            raise

    def _prepare(self) -> None:
        # Tables first: somebody else may be creating the file, and its tables come with the numbers.
        [tables] = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        [application], [version] = (
            self._file.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
        if tables and (application, version) != (APPLICATION, VERSION):
            raise InputError(
                f"{self.path} does not hold decisions of this version of noiselimit: move it away, or "
                "update noiselimit."
            )
        if self._read_only:
            return
        self._use_a_log()
        self._file.execute("PRAGMA synchronous = FULL")  # an acknowledged decision survives a power cut
        self._file.execute("PRAGMA trusted_schema = OFF")
        if not tables:
            self._file.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")

    def _use_a_log(self) -> None:
        """Switch to a write-ahead log. SQLite does not wait here if somebody else does the same at once."""
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._file.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def close(self) -> None:
        """Close the file. Nothing is lost without it."""
        with self._lock:
            self._file.close()

    def add(self, decisions: Decision | Iterable[Decision], reviewer: str = "") -> list[int]:
        """Store decisions that were made at once, all or none; return the rows.

        Undo takes them back together. If this returns, they are on the disk.
        """
        made = [decisions] if isinstance(decisions, Decision) else list(decisions)
        _check_text(reviewer, LONGEST_NAME)
        with self._transaction():
            self._insert(
                reviewer, [(d.row, d.action, d.before, d.label, d.note, int(d.drawn), None) for d in made]
            )
        return [each.row for each in made]

    def undo(self, reviewer: str = "") -> list[int]:
        """Take back the last step of this reviewer; return its rows, none if there is nothing to undo."""
        return self._reverse(reviewer, again=False)

    def redo(self, reviewer: str = "") -> list[int]:
        """Take back the last undo of this reviewer, unless there was a decision since; return the rows."""
        return self._reverse(reviewer, again=True)

    def _reverse(self, reviewer: str, *, again: bool) -> list[int]:
        with self._transaction():
            done, undone = self._history(reviewer)
            steps = undone if again else done
            if not steps:
                return []
            entries = self._select("WHERE step = ? ORDER BY id", steps[-1])
            self._insert(reviewer, [(e.row, UNDO, e.after, e.before, "", e.drawn, e.id) for e in entries])
        return [entry.row for entry in entries]

    def _history(self, reviewer: str) -> tuple[list[int], list[int]]:
        """(steps that undo would take back, steps that redo would), the next one last."""
        done: list[int] = []
        undone: list[int] = []
        steps = self._file.execute(
            "SELECT a.step, b.step FROM decisions a LEFT JOIN decisions b ON b.id = a.undoes "
            "WHERE a.reviewer = ? GROUP BY a.step ORDER BY a.step",
            (reviewer,),
        )
        for step, target in steps:
            if target is None:
                done.append(step)
                undone.clear()
            elif done and target == done[-1]:
                done.pop()
                undone.append(step)
            else:
                undone.pop()
                done.append(step)
        return done, undone

    def entries(self, after: int = 0, row: int | None = None) -> list[Entry]:
        """All rows of the file with a larger id, in order, or those about one row of the audit."""
        with self._lock, _readable_errors(self.path):
            if row is None:
                return self._select("WHERE id > ? ORDER BY id", after)
            return self._select("WHERE row = ? AND id > ? ORDER BY id", row, after)

    def current(self, conflicts: Conflicts = "last") -> pd.DataFrame:
        """What counts for each row that was decided.

        Parameters
        ----------
        conflicts
            If reviewers disagree, take the ``last`` decision, or that of the ``majority``. A tie goes to the
            later decision, and *unsure* has no vote if somebody was sure.

        Returns
        -------
        pandas.DataFrame
            One line per row, in the order of rows: row, action (keep, relabel, drop, unsure), label (the
            right class, for relabel only), reviewer, time, note, conflict (whether reviewers disagree).
        """
        if conflicts not in ("last", "majority"):
            raise unknown("conflicts", conflicts, ("last", "majority"))
        found = standing(self.entries())
        chosen = {row: settle(entries, conflicts) for row, entries in sorted(found.items())}
        lines = [
            (row, e.action, e.after, e.reviewer, e.time, e.note, disagree(found[row]))
            for row, e in chosen.items()
        ]
        table = pd.DataFrame(lines, columns=list(COLUMNS), dtype=object)
        return table.astype({"row": np.int64, "conflict": bool})

    def _select(self, where: str, *values: object) -> list[Entry]:
        return [Entry(*line) for line in self._file.execute(f"SELECT * FROM decisions {where}", values)]

    def _insert(self, reviewer: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Insert one step; call this inside a transaction."""
        [step] = self._file.execute("SELECT coalesce(max(step), 0) + 1 FROM decisions").fetchone()
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._file.executemany(
            "INSERT INTO decisions VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(step, now, reviewer, *row) for row in rows],
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, _readable_errors(self.path):
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._file.execute("COMMIT")
            except BaseException:
                if self._file.in_transaction:
                    self._file.execute("ROLLBACK")
                raise


def standing(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Row → the last decision of each reviewer that was not undone; the entries of a row must be complete."""
    by_row: dict[int, list[Entry]] = {}
    for entry in entries:
        by_row.setdefault(entry.row, []).append(entry)
    found = {}
    for row, own in by_row.items():
        undone: set[int] = set()
        last: dict[str, Entry] = {}
        for entry in reversed(own):
            if entry.id in undone:
                continue
            if entry.undoes is not None:
                undone.add(entry.undoes)
            else:
                last.setdefault(entry.reviewer, entry)
        if last:
            found[row] = list(last.values())[::-1]
    return found


def settle(entries: Sequence[Entry], conflicts: Conflicts = "last") -> Entry:
    """The decision that counts among those of several reviewers, the latest of which comes last."""
    if conflicts == "last":
        return entries[-1]
    sure = [entry for entry in entries if entry.action != "unsure"] or entries
    votes = Counter((entry.action, entry.after) for entry in sure)
    return max(sure, key=lambda entry: (votes[entry.action, entry.after], entry.id))


def disagree(entries: Sequence[Entry]) -> bool:
    """Whether reviewers who were sure decided differently."""
    return len({(entry.action, entry.after) for entry in entries if entry.action != "unsure"}) > 1


def _check_text(text: str, longest: int) -> None:
    if len(text) > longest:
        raise InputError(f"'{text[:30]}…' has {len(text):,} characters: write at most {longest:,}.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{text[:30]!r} is not valid Unicode: type it again.") from None


@contextmanager
def _readable_errors(path: Path) -> Iterator[None]:
    """Turn errors that users can fix into an InputError."""
    try:
        yield
    except sqlite3.OperationalError as error:
        full = "full" in str(error)
        remedy = "free some space and try again" if full else "check its folder and permissions"
        raise InputError(f"{path} cannot be used ({error}): {remedy}; nothing was stored.") from None
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
            raise
        raise InputError(f"{path} is damaged ({error}): restore it from a copy, or move it away.") from None
