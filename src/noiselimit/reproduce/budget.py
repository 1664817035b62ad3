"""Which cohort comes next in the time that is left."""

from collections.abc import Sequence

from noiselimit.reproduce.cohorts import Cohort

WORTH_BEGINNING = 30.0
"""Seconds below which no cohort is begun or gone on with: setting it up takes as long."""


def next_cohort(
    left: Sequence[Cohort], seconds: float, *, begun: bool = False, idle: bool = True
) -> Cohort | None:
    """The first that will be done in so many seconds; None: that was all.

    `begun`: a call before began the first, which is gone on with. `idle`: nothing was trained so far, so that
    the first is begun even if it will not be done.
    """
    if not left or seconds <= WORTH_BEGINNING:
        return None
    fitting = (
        cohort
        for place, cohort in enumerate(left)
        if begun or cohort.seconds_without(left[:place]) <= seconds
    )
    return next(fitting, left[0] if idle else None)


def in_budget(cohorts: Sequence[Cohort], seconds: float) -> dict[int, str]:
    """Position → 'whole' or 'in part' for those that a call of so many seconds would train, by estimates."""
    left, found = list(cohorts), dict[int, str]()
    while (cohort := next_cohort(left, seconds, idle=not found)) is not None:
        needed = cohort.seconds_without(left[: left.index(cohort)])
        found[cohorts.index(cohort)] = "whole" if needed <= seconds else "in part"
        left.remove(cohort)
        seconds -= needed
    return found
