"""Inputs that became NaN or infinite after they were read and checked, in an array that is the caller's."""

import dataclasses

import numpy as np

from noiselimit.cohort.outcome import Finished
from noiselimit.cohort.prepare import PreparedRun


def without_bad_inputs(finished: Finished, prepared: PreparedRun) -> Finished:
    """The same, or a failure without networks and outputs where the run met such inputs.

    The best epoch's weights are numbers, so what they say of an example is none only if the example is none.
    """
    part = _bad_part(finished, prepared)
    if part is None:
        return finished
    last = finished.history[-1] if finished.history else {}
    found = f"an output was not a finite number at step {last.get('step', 0)} (epoch {last.get('epoch', 0)})"
    noticed = (finished.failure or found).rpartition(": ")[0] or found
    return dataclasses.replace(
        finished,
        best_epoch=0,
        failure=f"{noticed}: inputs of its {part} part hold NaN or an infinite value, so repair them",
        classifier=None,
        predictor=None,
        best={},
        last=None,
        watched=None,
        transition=None,
    )


def _bad_part(finished: Finished, prepared: PreparedRun) -> str | None:
    if not (np.isfinite(prepared.mean).all() and np.isfinite(prepared.std).all()):
        return "training"
    said = finished.best.items() if finished.best_epoch else ()
    names = {"train": "training"}
    return next(
        (names.get(part, part) for part, scores in said if not scores.classifier.isfinite().all()), None
    )
