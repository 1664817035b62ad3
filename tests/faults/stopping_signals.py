"""SIGINT and SIGTERM: the end comes soon, what was done stays, and the command to go on with is printed."""

import random
import shlex
import signal
from pathlib import Path

from children import start
from trials import Tally, Trial, Undisturbed

LATEST = 2.0
"""Seconds from the signal to the end of the process, at most."""
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def interrupted(whole: Undisturbed, folder: Path, tally: Tally, chance: random.Random, place: float) -> None:
    """Interrupt the command once, go on with what it prints, and compare."""
    trial = Trial(whole, folder, tally, chance)
    number = chance.choice(list(CODES))
    arguments = whole.command.arguments(chance.choice(whole.command.threads))
    ended = start(arguments, folder).send(number, place * whole.seconds)
    if ended.code == CODES[number]:
        tally.others[f"{number.name} to {whole.command.name}"] += 1
        tally.longest_end = max(tally.longest_end, ended.seconds)
        *_, sentence, command = ended.said.splitlines()
        if not sentence.startswith("noiselimit: interrupted; ") or command != shlex.join(
            ["noiselimit", *arguments]
        ):
            trial.find(f"after {number.name} it said: {ended.said}")
    elif ended.code:
        trial.find(f"{number.name} ended it with {ended.code}: {ended.said}")
    if ended.seconds > LATEST:
        trial.find(f"{number.name} ended it after {ended.seconds:.1f} s")
    trial.finish()
