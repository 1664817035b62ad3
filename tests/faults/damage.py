"""Checkpoints that are cut off or have a bit turned: the older one serves, and the user is told."""

import random
from pathlib import Path

from moments import at_change, die
from trials import Tally, Trial, Undisturbed

ATTEMPTS = 50
WAYS = ("the newest cut off", "a bit of the newest turned", "all damaged")


def damaged(whole: Undisturbed, folder: Path, tally: Tally, chance: random.Random, place: float) -> None:
    """Kill the command while it has two checkpoints of some run, damage them, and go on."""
    trial = Trial(whole, folder, tally, chance)
    way = WAYS[int(place * len(WAYS))]
    for _ in range(ATTEMPTS):  # in vain where some other run had just ended
        trial.clear()
        number = 1 + int(chance.uniform(0.2, 0.8) * whole.changes)
        trial.start(at_change(number, folder, die)).wait()
        found = sorted(folder.rglob(".checkpoints/*.safetensors"))
        if len(found) >= 2:
            break
    else:
        trial.find(f"killed {ATTEMPTS} times, it never had two checkpoints")
        return
    for path in found if way == "all damaged" else found[-1:]:
        content = bytearray(path.read_bytes())
        if way == "the newest cut off" or (way == "all damaged" and chance.random() < 0.5):
            content = content[: chance.randrange(len(content))]
        else:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
    tally.others[f"checkpoints: {way}"] += 1
    told = "training starts anew" if way == "all damaged" else "older checkpoints serve where there are any"
    trial.finish("damaged", told, goes_on=way != "all damaged")
