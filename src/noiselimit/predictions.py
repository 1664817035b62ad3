"""Predictions of a run's classifier as a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.runs import Run


def prediction_table(run: Run, inputs: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per input: its index, the predicted label and class name, and the probability given to it.

    `names` [n], where inputs have any, are a second column.
    """
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
