"""Whether the networks learned enough to judge anybody's labels."""

from collections.abc import Sequence

import numpy as np

from noiselimit.data.examples import DataSet
from noiselimit.report.wording import percent, shorten
from noiselimit.runs import Run

LEAST = 0.1
"""How far from the share of the commonest class to 1 the agreement with held-out labels must come. Only right
labels agree, but for chance: with 80 % of ten classes' labels wrong, 0.1 is about all that can be reached."""
LONGEST_NAME = 40


def warning(runs: Sequence[Run], counted: Sequence[bool], data: DataSet) -> str | None:
    """One sentence where the runs that count hardly agree with held-out labels; None where all is well."""
    reached = [
        run.metrics["validation_accuracy"] for run, counts in zip(runs, counted, strict=True) if counts
    ]
    labels = data.examples.labels
    sizes = np.bincount(labels[labels >= 0], minlength=data.examples.classes)
    commonest = float(sizes.max() / sizes.sum())
    if not reached or max(reached) >= commonest + LEAST * (1 - commonest):
        return None
    name = shorten(data.examples.class_names[int(sizes.argmax())], LONGEST_NAME)
    return (
        f"The networks agree with {percent(max(reached))} of the labels that were held out, and always "
        f"saying '{name}' with {percent(commonest)}: they learned next to nothing, so do not trust this "
        "audit; try more --epochs, a smaller --beta such as 1, another --network, or inputs that tell more."
    )
