"""One trial: a command meets a fault, perhaps several times; then it goes on, and its folder is compared."""

import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from children import Child, Ended, nothing, start
from commands import Command
from folders import Snapshot, can_go_on, differences, half_done, interrupted_while, snapshot
from moments import at_change, die, die_in_a_file_beyond

MOST_KILLS = 3
"""In one trial: who goes on may be killed as well."""


@dataclass
class Tally:
    """What came of the trials so far."""

    kills: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(command, when, what it was doing) → number."""
    others: Counter[str] = field(default_factory=Counter)
    """Faults that kill nobody → number."""
    compared: Counter[str] = field(default_factory=Counter)
    """Folders, files and bytes that were compared with those of an undisturbed command."""
    missed: Counter[str] = field(default_factory=Counter)
    """Kills and signals that a command was too quick for."""
    findings: list[str] = field(default_factory=list)
    latest: float = 2.0
    """Seconds that the end may take then."""
    longest_end: float = 0.0
    """Seconds from SIGINT or SIGTERM to the end of a process."""


@dataclass(frozen=True)
class Undisturbed:
    """What a command does when nothing happens to it."""

    command: Command
    content: Snapshot
    seconds: float
    changes: int
    """That it makes on disk."""


@dataclass
class Trial:
    """A folder in which things go wrong."""

    whole: Undisturbed
    folder: Path
    tally: Tally
    chance: random.Random
    log: Path | None = None
    """Where its children say what they say; beside the folder unless told otherwise."""

    def __post_init__(self) -> None:
        self.folder.mkdir()

    def clear(self) -> None:
        """Begin anew in an empty folder."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def start(self, fault: Callable[[], None] = nothing, *, again: bool = False) -> Child:
        """The command, in any number of threads."""
        resumable = again and (self.folder / "runs" / ".command.json").exists() and self.chance.random() < 0.5
        threads = self.chance.choice(self.whole.command.threads)
        arguments = self.whole.command.arguments(threads, again=resumable)
        return start(arguments, self.folder, fault, self.log)

    def kill(self, when: str, *, again: bool = False, place: float | None = None) -> bool:
        """Kill the command as it runs; False where it ended before. `place` in [0, 1]: early or late."""
        place = self.chance.random() if place is None else place
        number = 1 + int(place * self.whole.changes)
        done = self.whole.command.is_done(self.folder)
        if when == "at any moment":
            ended = self.start(again=again).send(signal.SIGKILL, place * self.whole.seconds)
        elif when == "in the middle of a file":
            size = int(10 ** self.chance.uniform(2.5, 5.5))
            ended = self.start(at_change(number, self.folder, die_in_a_file_beyond(size)), again=again).wait()
        else:
            ended = self.start(at_change(number, self.folder, die), again=again).wait()
        if ended.killed:
            self.tally.kills[self.whole.command.name, when, interrupted_while(self.folder)] += 1
        elif not ended.code or (done and done in ended.said):
            self.tally.missed["kills"] += 1
        else:
            self.find(f"killed {when}, it ended with {ended.code}: {ended.said[-2000:]}")
        self.find(*half_done(self.folder, self.whole.content))
        return ended.killed

    def finish(self, *expected: str, goes_on: bool = True) -> Ended:
        """Go on to the end, and compare; what it says must have the words that are expected."""
        words = [*expected, *(["go on from epoch"] if goes_on and can_go_on(self.folder) else [])]
        done = self.whole.command.is_done(self.folder)
        ended = self.start(again=True).wait()
        if ended.code and not (done and done in ended.said):
            self.find(f"going on ended with {ended.code}: {ended.said[-2000:]}")
        self.find(
            *(f"nothing was said of {word!r}: {ended.said}" for word in words if word not in ended.said)
        )
        found = snapshot(self.folder)
        self.find(*differences(found, self.whole.content))
        self.tally.compared["folders"] += 1
        self.tally.compared["files"] += len(found)
        self.tally.compared["bytes"] += sum(map(len, found.values()))
        shutil.rmtree(self.folder)
        return ended

    def find(self, *findings: str) -> None:
        """Note what should not be."""
        self.tally.findings += [f"{self.whole.command.name}, {self.folder.name}: {text}" for text in findings]


def killed(whole: Undisturbed, folder: Path, tally: Tally, chance: random.Random, place: float) -> None:
    """Kill once, perhaps again and again as it goes on, and compare in the end."""
    trial = Trial(whole, folder, tally, chance)
    moments = whole.command.moments
    dead = trial.kill(chance.choice(moments), place=place)
    for _ in range(MOST_KILLS - 1):
        if dead and chance.random() < 0.4:
            dead = trial.kill(chance.choice(moments), again=True)
    trial.finish()


def undisturbed(command: Command, folder: Path) -> Undisturbed:
    """What the command does by itself, twice the same."""
    contents = []
    for threads in (1, 2):
        place = folder / f"alone-{threads}"
        place.mkdir()
        ended = start(command.arguments(min(threads, max(command.threads))), place).wait()
        assert ended.code == 0, ended.said
        contents.append(snapshot(place))
    assert differences(*contents) == []
    return Undisturbed(command, contents[0], ended.seconds, count_changes(command, folder / "counted"))


def count_changes(command: Command, folder: Path) -> int:
    """How many changes on disk it makes."""
    folder.mkdir()
    note = folder.with_name("changes")
    ended = start(
        command.arguments(min(1, max(command.threads))), folder, at_change(0, folder, nothing, note)
    ).wait()
    assert ended.code == 0, ended.said
    shutil.rmtree(folder)
    return note.stat().st_size
