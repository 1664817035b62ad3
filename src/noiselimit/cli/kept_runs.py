"""What an interrupted training has kept in its folder, in words."""

from pathlib import Path


def kept_runs(out: Path) -> str:
    """What lies in the folder of runs, and what the same command makes of it."""
    from noiselimit.checkpoints.content import Malformed, read_entries
    from noiselimit.checkpoints.store import FOLDER
    from noiselimit.errors import InputError

    finished = {spec.parent.name for spec in out.glob("*/spec.json")}
    epochs: dict[str, int] = {}
    for path in (out / FOLDER).glob("epoch-*.safetensors"):
        try:
            entries = read_entries(path)
        except (Malformed, InputError, OSError):
            continue
        for entry in entries.values():
            if entry.folder not in finished:
                epochs[entry.folder] = max(epochs.get(entry.folder, 0), entry.epoch)
    return in_words(len(finished), sorted(epochs.values()))


def in_words(finished: int, epochs: list[int]) -> str:
    """So many runs have ended; others, in order, have come to these epochs."""
    if not finished and not epochs:
        return "nothing is kept yet, and the same command starts anew"
    done = f"{finished} finished run{'' if finished == 1 else 's'}"
    others = ("run" if not finished else "other") + ("" if len(epochs) == 1 else "s")
    if not epochs:
        kept, many = done, finished > 1
    else:
        many = epochs[0] < epochs[-1]
        which = f"epochs {epochs[0]} to {epochs[-1]}" if many else f"epoch {epochs[0]}"
        begun = f"{which} of {len(epochs)} {others}"
        kept, many = (f"{done} and {begun}", True) if finished else (begun, many)
    return f"{kept} {'are' if many else 'is'} kept, and the same command goes on"
