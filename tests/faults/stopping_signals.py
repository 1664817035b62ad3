"""SIGINT and SIGTERM: the end comes soon, what was done stays, and the command to go on with is printed."""

import random
import shlex
import signal
from pathlib import Path

from children import start_anew
from trials import Tally, Trial, Undisturbed

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def interrupted(whole: Undisturbed, folder: Path, tally: Tally, chance: random.Random, place: float) -> None:
    """Interrupt the command once, before a change on disk, go on with what it prints, and compare."""
    trial = Trial(whole, folder, tally, chance)
    number = chance.choice(list(CODES))
    arguments = whole.command.arguments(chance.choice(whole.command.threads))
    note = folder.with_name(f"{folder.name}.signalled")
    child = start_anew(arguments, folder, 1 + int(place * whole.changes), number, note)
    started, ended = child.started, child.wait()
    if ended.code == 0:
        tally.missed["signals"] += 1  # it made fewer changes this time, or had done everything
    elif ended.code != CODES[number] or not note.exists():
        trial.find(f"{number.name} ended it with {ended.code}: {ended.said}")
    else:
        tally.others[f"{number.name} to {whole.command.name}"] += 1
        seconds = started + ended.seconds - float(note.read_text())
        tally.longest_end = max(tally.longest_end, seconds)
        if seconds > tally.latest:
            trial.find(f"{number.name} ended it after {seconds:.1f} s")
        *_, sentence, command = ["", "", *ended.said.splitlines()]
        typed = shlex.join(["noiselimit", *arguments])
        if not sentence.startswith("noiselimit: interrupted; ") or command != typed:
            trial.find(f"after {number.name} it said: {ended.said}")
    trial.finish()
