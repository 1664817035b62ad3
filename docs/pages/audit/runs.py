"""Whether what was measured is what an audit trains today: outputs of an earlier one are told from it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from noiselimit.audit.plan import DEFAULT
from noiselimit.data.digits import digits
from noiselimit.data.examples import DataSet, Examples
from noiselimit.networks import fitting_network

SETTINGS = ("method", "beta", "network", "epochs")
OUTDATED = (
    "This was measured before the audit got its present settings, so it is of an earlier audit: measure it "
    "again."
)


def planned_runs(data: DataSet) -> list[dict[str, Any]]:
    """Settings of the runs that the default audit of these data trains."""
    fitting = fitting_network(data.examples.input_shape)
    return [
        {
            "method": spec.method,
            "beta": spec.hyper.get("beta"),
            "network": fitting if spec.network == "auto" else spec.network,
            "epochs": spec.epochs,
        }
        for spec in DEFAULT.specs(data)
    ]


def is_outdated(runs: Sequence[Mapping[str, Any]], data: DataSet) -> bool:
    """Whether these runs, as `noiselimit audit --json` tells them, are others than those planned."""
    return [{name: run[name] for name in SETTINGS} for run in runs] != planned_runs(data)


def rows_like(rows: int, features: int, classes: int) -> DataSet:
    """As many rows without content: what is trained goes by their number."""
    inputs = np.broadcast_to(np.float32(0), (rows, features))
    names = tuple(map(str, range(classes)))
    return DataSet("rows", Examples(inputs, np.zeros(rows, np.int64), names))


def digits_outdated(results: Mapping[str, Any]) -> bool:
    """The same for the audit of digits that the documents show."""
    return is_outdated(results["runs"], digits())
