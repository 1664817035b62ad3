"""Whether the networks learned enough to judge anybody's labels, and whether they learned them by heart."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from noiselimit.audit.chance import LEAST, Agreement
from noiselimit.report.wording import percent
from noiselimit.runs import Run

MUCH = 0.5
"""The same where nobody would say that nothing was learned, however few labels it is known from."""
RISES = 0.05
"""What agreement may rise by in the last quarter of the epochs: probabilities are means over the last two
quarters, and what is not learned yet looks like a wrong label."""
BY_HEART = 0.025
"""The same where labels are memorised: that goes on slowly for as long as networks train."""
OF_THE_SAME = 0.5
"""Of what agreement with labels that train rises by, that with held-out ones must rise by so much: else it is
not the classes that are being learned but these labels."""

UNCHECKED = (
    "No labels were held out, so that nobody knows whether the networks learned the classes or these labels "
    "by heart: give 50 examples or more, and a validation_share such as 0.2."
)


@dataclass(frozen=True)
class Learned:
    """What a person should know of how the networks learned, a sentence each; None where all is well."""

    warning: str | None = None
    """Why nothing can be said of the labels."""
    note: str | None = None
    """What could be done better."""


def how_learned(judging: Sequence[Run], agreement: Agreement | None) -> Learned:
    """Of the runs that judge together, and their agreement with labels held out; None: there are no such."""
    too_little = UNCHECKED if agreement is None else _hardly_more_than_chance(agreement)
    if too_little is not None:
        return Learned(too_little)
    best = max(judging, key=lambda run: _last_quarters(run, "validation_accuracy")[1])
    trained, held_out = (_last_quarters(best, f"{part}_accuracy") for part in ("train", "validation"))
    rise = trained[1] - trained[0]
    if held_out[1] - held_out[0] < OF_THE_SAME * rise:
        return Learned(note=_memorising(trained, held_out) if rise > BY_HEART else None)
    return Learned(note=_still_learning(trained, len(best.history)) if rise > RISES else None)


def _hardly_more_than_chance(agreement: Agreement) -> str | None:
    if agreement.low > agreement.chance and agreement.beyond_chance >= LEAST:
        return None
    few = agreement.beyond_chance >= MUCH
    why = "of so few labels that says too little" if few else "they learned next to nothing"
    return (
        f"The networks agree with {percent(agreement.share)} of the {agreement.examples:,} labels that were "
        f"held out, and would with {percent(agreement.chance)} by chance: {why}, so this audit is not to be "
        "trusted; try a lower --learning-rate such as 0.0003, more --epochs, another --network, more "
        "examples, or inputs that tell more."
    )


def _last_quarters(run: Run, name: str) -> tuple[float, float]:
    """Means over the last quarter but one and the last; of fewer than four epochs, twice that of all."""
    curve = [float(record[name] or 0.0) for record in run.history]
    quarter = len(curve) // 4
    if not quarter:
        return fmean(curve), fmean(curve)
    return fmean(curve[-2 * quarter : -quarter]), fmean(curve[-quarter:])


def _still_learning(trained: tuple[float, float], epochs: int) -> str:
    return (
        f"The networks were still learning when their {epochs} epochs were over: they agreed with "
        f"{percent(trained[0])} of the labels that they trained on in the third quarter and with "
        f"{percent(trained[1])} in the last, so what they have not learned yet looks wrong; give more "
        "--epochs."
    )


def _memorising(trained: tuple[float, float], held_out: tuple[float, float]) -> str:
    return (
        "The networks memorised labels towards the end: from the third quarter of the epochs to the last, "
        f"their agreement with labels that they trained on went from {percent(trained[0])} to "
        f"{percent(trained[1])}, with held-out ones from {percent(held_out[0])} to {percent(held_out[1])}, "
        "so wrong labels among the former are found less well; try a larger --beta or fewer --epochs."
    )
