"""Whether the networks learned enough to judge anybody's labels."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from noiselimit.data.examples import DataSet
from noiselimit.report.wording import percent, shorten
from noiselimit.runs import Run

LEAST = 0.1
"""How far from the share of the commonest class to 1 the agreement with held-out labels must come. Only right
labels agree, but for chance: with 80 % of ten classes' labels wrong, 0.1 is about all that can be reached."""
STILL_LEARNING = 0.05
"""What training accuracy may rise by in the last quarter of the epochs: probabilities are means over the last
two quarters, and what is not learned yet looks like a wrong label."""
LONGEST_NAME = 40


def warning(runs: Sequence[Run], counted: Sequence[bool], data: DataSet) -> str | None:
    """One sentence where the best run that counts learned too little; None where all is well."""
    judging = [run for run, counts in zip(runs, counted, strict=True) if counts]
    if not judging:
        return None
    best = max(judging, key=lambda run: float(run.metrics["validation_accuracy"]))
    return _hardly_better_than_guessing(best, data) or _still_learning(best)


def _hardly_better_than_guessing(run: Run, data: DataSet) -> str | None:
    labels = data.examples.labels
    sizes = np.bincount(labels[labels >= 0], minlength=data.examples.classes)
    commonest, reached = float(sizes.max() / sizes.sum()), float(run.metrics["validation_accuracy"])
    if reached >= commonest + LEAST * (1 - commonest):
        return None
    name = shorten(data.examples.class_names[int(sizes.argmax())], LONGEST_NAME)
    return (
        f"The networks agree with {percent(reached)} of the labels that were held out, and always saying "
        f"'{name}' with {percent(commonest)}: they learned next to nothing, so do not trust this audit; try "
        "a lower --learning-rate such as 0.0003, more --epochs, another --network, or inputs that tell more."
    )


def _still_learning(run: Run) -> str | None:
    curve = [float(record["train_accuracy"] or 0.0) for record in run.history]
    quarter = len(curve) // 4
    if not quarter:
        return None
    before, after = fmean(curve[-2 * quarter : -quarter]), fmean(curve[-quarter:])
    if after - before <= STILL_LEARNING:
        return None
    return (
        f"The networks were still learning when their {len(curve)} epochs were over: they agreed with "
        f"{percent(before)} of the labels that they trained on in the third quarter and with "
        f"{percent(after)} in the last, so what they have not learned yet looks wrong; give more --epochs."
    )
