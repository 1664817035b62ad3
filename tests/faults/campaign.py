"""All faults one after another, as many as are asked for; every one a function of the seed."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from commands import COMMANDS, import_everything
from damage import damaged
from full_disks import full_by_limit, full_tmpfs
from stopping_signals import interrupted
from trials import Tally, Undisturbed, killed, undisturbed


@dataclass(frozen=True)
class Wanted:
    """How many trials of each kind, for train, audit and demo."""

    killed: tuple[int, ...]
    interrupted: tuple[int, ...]
    limited: tuple[int, ...]
    tmpfs: tuple[int, ...]
    damaged: tuple[int, ...]
    latest: float
    """Seconds from a signal to the end, at most."""


LONG = Wanted((75, 50, 8), (16, 12, 0), (8, 6, 0), (6, 4, 0), (9, 6, 0), 2.0)
SHORT = Wanted((4, 2, 0), (1, 1, 0), (1, 0, 0), (0, 0, 0), (1, 1, 0), 30.0)
"""The latter is a test, which may run beside others: its processes may have to wait."""

KINDS: dict[str, Callable[[Undisturbed, Path, Tally, random.Random, float], None]] = {
    "killed": killed,
    "interrupted": interrupted,
    "limited": full_by_limit,
    "tmpfs": full_tmpfs,
    "damaged": damaged,
}


def faults(
    wanted: Wanted,
    seed: int,
    folder: Path,
    news: Callable[[str, Tally], None],
    only: str | None = None,
) -> Tally:
    """Everything that is wanted, of all commands or `only` one, in an empty folder."""
    import_everything()
    tally = Tally(latest=wanted.latest)
    for place, command in enumerate(COMMANDS.values()):
        if only not in (None, command.name):
            continue
        counts = {kind: getattr(wanted, kind)[place] for kind in KINDS}
        if not any(counts.values()):
            continue
        beginning = time.monotonic()
        own = folder / command.name.replace(" ", "-")
        own.mkdir()
        whole = undisturbed(command, own)
        for kind, count in counts.items():
            for number in range(count):
                chance = random.Random(f"{seed} {command.name} {kind} {number}")
                where = (number + chance.random()) / count  # spread over the whole of the command
                KINDS[kind](whole, own / f"{kind}-{number}", tally, chance, where)
                news(f"{command.name}, {kind} {number + 1} of {count}", tally)
        news(f"{command.name}: {time.monotonic() - beginning:.0f} s", tally)
    return tally
