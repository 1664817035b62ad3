"""The state of a review: what the pages of all reviewers ask for, as JSON values."""

import threading
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from noiselimit.audit.decisions import Decision, Decisions, Entry, disagree, settle, standing
from noiselimit.audit.neighbours import NEIGHBOURS
from noiselimit.audit.saved import SavedAudit
from noiselimit.errors import InputError
from noiselimit.report.content import legal
from noiselimit.review.estimate import WORTH, Estimate, Integers, Reviewed, estimate
from noiselimit.review.looks import Looks, Neighbours
from noiselimit.review.queue import Filter, Queue
from noiselimit.review.reaudit import Reaudit, read_reaudit

CLASS_EXAMPLES = 6
PROBABLE_CLASSES = 5
VALUES_ALIKE = 50
"""Rows with similar values that stand for the examples of a class."""
PAIRS_LISTED = 500
MOST_ROWS = 500
"""Rows described, or decided, in one request."""
CHANGES_KEPT = 500
WRONG = ("relabel", "drop")


class Session:
    """One audit under review by any number of people.

    Parameters
    ----------
    saved
        The audit. Its data are read here, so an InputError says at once if they moved.
    """

    def __init__(self, saved: SavedAudit) -> None:
        self.saved = saved
        self.class_names = saved.class_names
        self.queue = Queue.of(saved)
        self.data = saved.load()
        self.members = lru_cache(None)(self._find_members)
        place = saved.place
        folder = place.parent if place is not None and place.is_file() else place
        self.looks = Looks(self.data, self.members, folder)
        self.decisions = Decisions(saved.folder)
        self.neighbours = Neighbours(saved.features)
        count = len(self.queue.given)
        self._lock = threading.RLock()
        self._standing: dict[int, list[Entry]] = {}
        self._reviewed = Reviewed(np.zeros(count, np.int64), np.zeros(count, bool), np.zeros(count, bool))
        self._unsure, self._conflict = np.zeros(count, bool), np.zeros(count, bool)
        self._last = 0
        self._estimated: tuple[int, Estimate] | None = None
        self.reaudit = Reaudit(saved.folder, saved.moved_to, self.rank_again)
        self.rank_again()
        self.refresh()

    def close(self) -> None:
        """End an audit that is under way, and close the file of decisions."""
        self.reaudit.close()
        self.decisions.close()

    def rank_again(self) -> None:
        """Order the rows by what an audit with the decisions found, if there was one."""
        found = read_reaudit(self.saved.folder, len(self.queue.given), len(self.class_names))
        if found is not None:
            probability = found["error_probability"].to_numpy(np.float64)
            suggested, flagged = found["predicted"].to_numpy(np.int64), found["flagged"].to_numpy(bool)
            with self._lock:
                self.queue.rank(probability, suggested, flagged)
                self._estimated = None

    def _find_members(self, number: int) -> Integers:
        """Rows that clearly belong to a class, the clearest first."""
        queue = self.queue
        if not self.saved.task.has_classes:  # values are in order
            rows = np.flatnonzero((queue.given >= 0) & ~queue.is_flagged)
            nearest = np.argsort(np.abs(queue.given[rows] - number), kind="stable")[:VALUES_ALIKE]
            return rows[nearest]
        rows = np.flatnonzero((queue.given == number) & ~queue.is_flagged)
        if not len(rows):
            rows = np.flatnonzero(queue.given == number)
        return rows[np.argsort(queue.probability[rows], kind="stable")]

    def refresh(self) -> list[int]:
        """Take over decisions that were stored since the last call, by anybody; return their rows."""
        with self._lock:
            new = self.decisions.entries(after=self._last)
            if not new:
                return []
            first = self._last == 0
            rows = sorted({entry.row for entry in new if entry.row < len(self._unsure)})
            by_row: dict[int, list[Entry]] = {}
            for entry in new if first else (e for row in rows for e in self.decisions.entries(row=row)):
                by_row.setdefault(entry.row, []).append(entry)
            for row in rows:
                self._update(row, by_row[row])
            self._last = new[-1].id
            return rows

    def _update(self, row: int, entries: Sequence[Entry]) -> None:
        votes, reviewed = standing(entries).get(row), self._reviewed
        if votes is None:
            self._standing.pop(row, None)
            reviewed.order[row] = reviewed.wrong[row] = reviewed.drawn[row] = 0
            self._unsure[row] = self._conflict[row] = False
            return
        chosen = settle(votes)
        self._standing[row] = votes
        # The first look at a row counts, even if the decision was changed later.
        reviewed.order[row], reviewed.drawn[row] = entries[0].id, entries[0].drawn
        reviewed.wrong[row] = chosen.action in WRONG
        self._unsure[row], self._conflict[row] = chosen.action == "unsure", disagree(votes)

    def start(self) -> dict[str, Any]:
        """What a page needs once."""
        queue = self.queue
        return {
            "title": legal(str(self.saved.summary.get("data", self.saved.folder.name))),
            "kind": self.looks.kind,
            "tiny": self.looks.tiny,
            "classes": [legal(name) for name in self.class_names],
            "rows": int((queue.given >= 0).sum()),
            "flagged": len(queue.flagged),
            "pairs": queue.pairs(PAIRS_LISTED) if self.saved.task.has_classes else [],
            "last": self._last,
        }

    def listed(self, wanted: Filter) -> dict[str, Any]:
        """The rows to review, in order, and which of them are random checks."""
        for number in (wanted.given, wanted.suggested):
            if number is not None:
                self._require_class(number)
        with self._lock:
            decided = self._reviewed.order > 0
            rows, checks = self.queue.rows(wanted, decided, self._unsure, self._conflict)
        return {"rows": rows.tolist(), "checks": checks.tolist()}

    def brief(self, rows: Sequence[int]) -> dict[int, dict[str, Any]]:
        """What a list shows of these rows."""
        if len(rows) > MOST_ROWS:
            raise InputError(f"{len(rows)} rows: ask for at most {MOST_ROWS}.")
        queue, names = self.queue, self.data.examples.names
        return {
            row: {
                "given": int(queue.given[row]),
                "suggested": int(queue.suggested[row]),
                "probability": round(float(queue.probability[row]), 4),
                "flagged": bool(queue.is_flagged[row]),
                "name": "" if names is None else legal(str(names[row])),
                "preview": self.looks.preview(row),
                **self.state(row),
            }
            for row in (self.require(row) for row in rows)
        }

    def require(self, row: int) -> int:
        """The row, if it is one of the audit."""
        if not 0 <= row < len(self.queue.given):
            raise InputError(f"there is no row {row} in this audit: reload the page.")
        return row

    def _require_class(self, number: int) -> int:
        if not 0 <= number < len(self.class_names):
            raise InputError(f"there is no class {number}: choose one of the list.")
        return number

    def state(self, row: int) -> dict[str, Any]:
        """Who decided what about a row; what counts is the last of the votes."""
        votes = self._standing.get(row, [])
        return {
            "votes": [
                {
                    "reviewer": legal(e.reviewer),
                    "action": e.action,
                    "label": self._number(e.after),
                    "note": legal(e.note),
                }
                for e in votes
            ],
            "conflict": disagree(votes),
        }

    def _number(self, name: str | None) -> int | None:
        return None if name is None or name not in self.class_names else self.class_names.index(name)

    def detail(self, row: int) -> dict[str, Any]:
        """Everything about one row, except what is alike."""
        brief = self.brief([row])[row]
        probable = self.saved.probable_classes(row, PROBABLE_CLASSES + 1)
        others = [number for number, _ in probable if number != brief["given"]] or [brief["given"]]
        other = brief["suggested"] if brief["suggested"] != brief["given"] else others[0]
        return {
            "row": row,
            **brief,
            "probable": [
                {"label": number, "probability": round(probability, 4)}
                for number, probability in probable[:PROBABLE_CLASSES]
            ],
            "other": other,
            "texts": self.looks.texts(row),
            "columns": self.looks.columns(row, brief["given"], other),
            "history": [
                {
                    "time": e.time,
                    "reviewer": legal(e.reviewer),
                    "action": e.action,
                    "label": self._number(e.after),
                }
                for e in self.decisions.entries(row=row)
            ],
        }

    def near(self, row: int, other: int) -> dict[str, Any]:
        """The nearest neighbours of a row, and examples of its given class and another one."""
        given, other = int(self.queue.given[self.require(row)]), self._require_class(other)
        ready = self.neighbours.wait(0.0)
        found = self.neighbours.nearest(row, NEIGHBOURS) if ready else ()
        typical = {
            name: [int(each) for each in self._typical(number) if each != row] if number >= 0 else []
            for name, number in (("given", given), ("other", other))
        }
        shown = {*found, *(each for rows in typical.values() for each in rows)}
        return {
            "ready": ready,
            "problem": self.neighbours.problem,
            "why": legal(self.saved.explain_with(row, found)),
            "neighbours": list(found),
            "examples": typical,
            "rows": self.brief(sorted(shown)),
        }

    def _typical(self, number: int) -> Integers:
        """A few of the clear examples of a class, always the same ones."""
        rows = self.members(number)
        rows = rows[: max(len(rows) // 2, CLASS_EXAMPLES)]
        chosen = np.random.default_rng(number).permutation(len(rows))[:CLASS_EXAMPLES]
        return rows[np.sort(chosen)]

    def decide(
        self,
        rows: Sequence[tuple[int, bool]],
        action: str,
        label: int | None,
        suggested: bool,
        note: str,
        reviewer: str,
    ) -> dict[str, Any]:
        """Store one decision for several rows, each with whether it was a random check.

        With `suggested`, every row gets the class that is suggested for it. A row that already has the class
        is kept.
        """
        if not 0 < len(rows) <= MOST_ROWS:
            raise InputError(f"{len(rows)} rows: decide 1 to {MOST_ROWS} at once.")
        if label is not None:
            self._require_class(label)
        made = []
        for row, drawn in rows:
            given = int(self.queue.given[self.require(row)])
            right = int(self.queue.suggested[row]) if suggested else label
            done, name = action, None if right is None else self.class_names[right]
            if action == "relabel" and right == given:
                done, name = "keep", None
            before = self.class_names[given] if given >= 0 else None
            made.append(Decision(row, done, name, before, note, drawn))
        return self._changed(self.decisions.add(made, reviewer))

    def undo(self, reviewer: str, *, again: bool) -> dict[str, Any]:
        """Take back the reviewer's last step, or the last undo."""
        return self._changed((self.decisions.redo if again else self.decisions.undo)(reviewer))

    def _changed(self, rows: Sequence[int]) -> dict[str, Any]:
        self.refresh()
        return {"rows": rows, "states": {row: self.state(row) for row in rows}}

    def changes(self, after: int) -> dict[str, Any]:
        """What happened since an earlier answer."""
        self.refresh()
        rows = sorted({entry.row for entry in self.decisions.entries(after=after)})
        rows = [row for row in rows if row < len(self._unsure)]
        known = rows[:CHANGES_KEPT]
        return {
            "last": self._last,
            "states": {row: self.state(row) for row in known},
            "all": len(rows) == len(known),
        }

    def estimate(self) -> dict[str, Any]:
        """The estimate from all decisions so far."""
        with self._lock:
            self.refresh()
            if self._estimated is None or self._estimated[0] != self._last:
                queue = self.queue
                found = estimate(queue.flagged, queue.unflagged, self._reviewed, queue.probability)
                self._estimated = (self._last, found)
            decided = self._reviewed.order > 0
            return {
                **_as_json(self._estimated[1]),
                "worth": WORTH,
                "flagged_decided": int(decided[self.queue.flagged].sum()),
                "conflicts": int(self._conflict.sum()),
                "unsure": int(self._unsure.sum()),
            }


def _as_json(found: Estimate) -> dict[str, Any]:
    return {
        **asdict(found),
        "precision": None if found.precision is None else found.precision._asdict(),
        "remaining": found.remaining._asdict(),
    }
