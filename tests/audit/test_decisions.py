"""Decisions against a model; what was acknowledged survives kill −9 and a full disk."""

import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.audit.decisions import DECISIONS, Decision, Decisions, standing
from noiselimit.errors import InputError

REVIEWERS = ("ann", "bo")
CHOICES = (("keep", None), ("relabel", "cat"), ("relabel", "dog"), ("drop", None), ("unsure", None))

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where 10,000 synchronous writes take no time."""

Vote = tuple[int, str, str | None]  # when, action, label


class Model:
    """What the decisions of several people should add up to."""

    def __init__(self) -> None:
        self.steps: dict[str, list[tuple[int, list[int], str, str | None]]] = {name: [] for name in REVIEWERS}
        self.undone: dict[str, list[tuple[int, list[int], str, str | None]]] = {
            name: [] for name in REVIEWERS
        }
        self.clock = 0

    def add(self, who: str, rows: list[int], action: str, label: str | None) -> None:
        self.clock += 1
        self.steps[who].append((self.clock, rows, action, label))
        self.undone[who].clear()

    def move(self, who: str, *, undo: bool) -> list[int]:
        source, target = (self.steps, self.undone) if undo else (self.undone, self.steps)
        if not source[who]:
            return []
        target[who].append(source[who].pop())
        return target[who][-1][1]

    def current(self, conflicts: str) -> dict[int, tuple[str, str | None, bool]]:
        votes: dict[int, dict[str, Vote]] = {}
        for who in REVIEWERS:
            for when, rows, action, label in self.steps[who]:
                for row in rows:
                    votes.setdefault(row, {})[who] = (when, action, label)
        found = {}
        for row, by_person in votes.items():
            cast = sorted(by_person.values(), key=lambda vote: vote[0])
            sure = [vote for vote in cast if vote[1] != "unsure"]
            chosen = cast[-1]
            if conflicts == "majority" and sure:
                counts = Counter(vote[1:] for vote in sure)
                chosen = max(sure, key=lambda vote: (counts[vote[1:]], vote[0]))
            found[row] = (*chosen[1:], len({vote[1:] for vote in sure}) > 1)
        return found


operations = st.lists(
    st.tuples(
        st.sampled_from(REVIEWERS),
        st.sampled_from(("add", "add", "add", "undo", "redo")),
        st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True),
        st.sampled_from(CHOICES),
    ),
    min_size=100,
    max_size=150,
)


@settings(max_examples=100, deadline=None, derandomize=True)  # 10,000 operations
@given(operations)
def test_any_sequence_of_operations(
    sequence: list[tuple[str, str, list[int], tuple[str, str | None]]],
) -> None:
    model = Model()
    with TemporaryDirectory(dir=MEMORY) as folder:
        tabs = [Decisions(folder), Decisions(folder)]  # two tabs share the file
        for number, (who, what, rows, (action, label)) in enumerate(sequence):
            tab = tabs[number % 2]
            if what == "add":
                tab.add([Decision(row, action, label, before="cow") for row in rows], who)
                model.add(who, rows, action, label)
            else:
                moved = tab.undo(who) if what == "undo" else tab.redo(who)
                assert moved == model.move(who, undo=what == "undo")
        for conflicts in ("last", "majority"):
            table = tabs[0].current(conflicts)  # type: ignore[arg-type]
            columns = (table[name] for name in ("row", "action", "label", "conflict"))
            assert {row: (*rest,) for row, *rest in zip(*columns, strict=True)} == model.current(conflicts)
        for tab in tabs:
            tab.close()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    decisions = Decisions(tmp_path)
    decisions.add([Decision(3, "relabel", "cat", "dog", "ears"), Decision(4, "keep", before="dog")], "ann")
    decisions.undo("ann")
    decisions.add(Decision(3, "drop"), "ann")
    record = decisions.entries()
    assert [(e.row, e.action, e.before, e.after, e.undoes) for e in record] == [
        (3, "relabel", "dog", "cat", None),
        (4, "keep", "dog", None, None),
        (3, "undo", "cat", "dog", 1),
        (4, "undo", None, "dog", 2),
        (3, "drop", None, None, None),
    ]
    assert [(e.step, e.reviewer, e.note) for e in record][:3] == [
        (1, "ann", "ears"),
        (1, "ann", ""),
        (2, "ann", ""),
    ]
    assert decisions.current()["row"].tolist() == [3]
    assert [entry.id for entry in decisions.entries(after=3)] == [4, 5]
    assert decisions.redo("ann") == []  # a new decision ends what could be redone
    decisions.close()


def test_two_people_at_once(tmp_path: Path) -> None:
    def work(name: str) -> None:
        own = Decisions(tmp_path)
        for row in range(200):
            own.add(Decision(row, "keep"), name)
        own.close()

    threads = [threading.Thread(target=work, args=(name,)) for name in REVIEWERS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    decisions = Decisions(tmp_path)
    assert len(decisions.entries()) == 400
    assert all(len(entries) == 2 for entries in standing(decisions.entries()).values())
    decisions.close()


def test_reading_writes_nothing(tmp_path: Path) -> None:
    writer = Decisions(tmp_path)
    writer.add(Decision(1, "keep"), "ann")
    for count in (1, 2):
        before = sorted(tmp_path.iterdir())
        reader = Decisions(tmp_path, read_only=True)
        assert len(reader.current()) == count
        with pytest.raises(InputError, match="readonly"):
            reader.add(Decision(3, "keep"), "bo")
        reader.close()
        assert sorted(tmp_path.iterdir()) == before
        if count == 1:
            writer.add(Decision(2, "keep"), "ann")
            writer.close()


KILLER = """
import os, random, signal, sys, time
from noiselimit.audit.decisions import Decision, Decisions

generator, first = random.Random(0), 0
for kill in range(100):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        decisions = Decisions(sys.argv[1])
        for row in range(first, 10**9):
            decisions.add(Decision(row, "keep"), "ann")
            os.write(writer, b"%d " % row)
    os.close(writer)
    os.read(reader, 1)  # it has begun
    time.sleep(generator.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        acknowledged = first + len(pipe.read().split())
    decisions = Decisions(sys.argv[1])
    kept = decisions.current()["row"].tolist()
    decisions.close()
    assert kept == list(range(len(kept)))
    assert acknowledged <= len(kept), kill
    first = len(kept)
print(kill + 1, first)
"""


def test_kill_loses_no_acknowledged_decision(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLER, str(tmp_path)]
    kills, kept = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert int(kills) == 100
    assert int(kept) > 200


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    decisions = Decisions(tmp_path)
    decisions.add([Decision(row, "keep", note="x" * 100) for row in range(20)])
    [pages] = decisions._file.execute("PRAGMA page_count").fetchone()
    decisions._file.execute(f"PRAGMA max_page_count = {pages + 2}")
    acknowledged = 20

    def fill() -> None:
        nonlocal acknowledged
        for row in range(20, 10_000):
            decisions.add(Decision(row, "keep", note="x" * 100))
            acknowledged += 1

    with pytest.raises(InputError, match="free some space"):
        fill()
    assert len(decisions.current()) == acknowledged
    decisions._file.execute(f"PRAGMA max_page_count = {pages + 1000}")
    decisions.add(Decision(acknowledged, "keep"))
    assert len(decisions.current()) == acknowledged + 1
    decisions.close()


@pytest.mark.parametrize(
    "wrong",
    [
        (0, "burn", None),
        (0, "relabel", None),
        (0, "keep", "cat"),
        (-1, "keep", None),
        (0, "relabel", "\ud800"),
    ],
)
def test_bad_decisions(wrong: tuple[int, str, str | None]) -> None:
    with pytest.raises(InputError):
        Decision(*wrong)


def test_files_that_hold_no_decisions(tmp_path: Path) -> None:
    file = tmp_path / DECISIONS
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(InputError, match="damaged"):
        Decisions(tmp_path)
    file.unlink()
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(InputError, match="version"):
        Decisions(tmp_path)
    with pytest.raises(InputError, match="cannot be used"):
        Decisions(tmp_path / "missing")
