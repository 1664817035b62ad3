"""Predictions of a run's classifier as a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.data.lazy import highest_value
from noiselimit.errors import InputError
from noiselimit.runs import Run


def prediction_table(run: Run, inputs: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per input: its index, the predicted label and class name, and the probability given to it.

    `names` [n], where inputs have any, are a second column.
    """
    _require_scale(run, inputs)
    probabilities = run.predict_proba(inputs)
    labels = probabilities.argmax(1)
    table = pd.DataFrame(
        {
            "index": np.arange(len(labels)),
            "predicted_label": labels,
            "predicted_class": [run.data.class_names[label] for label in labels],
            "probability": probabilities.max(1),
        }
    )
    if names is not None:
        table.insert(1, "name", list(names))
    return table


def _require_scale(run: Run, inputs: Any) -> None:
    """Pictures from files hold bytes; to a run on fractions of them all of these would look alike."""
    is_bytes = len(run.data.input_shape) == 3 and getattr(inputs, "dtype", None) == np.uint8
    if is_bytes and run.data.highest <= 1 < highest_value(inputs):
        raise InputError(
            f"inputs go up to {highest_value(inputs):g}, but the run was trained on values up to "
            f"{run.data.highest:g}: give an .npz file with values scaled alike."
        )
