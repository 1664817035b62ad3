"""Whether a checkpoint says what a training has written; it may come from anybody. If not: a ValueError."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from noiselimit.cohort.outcome import MEASURED, WHERE_KNOWN
from noiselimit.spec import RUN_FOLDER


def run_folder(value: Any) -> str:
    """The name of a run's folder, which leads nowhere else."""
    if not isinstance(value, str) or Path(value).name != value or not re.fullmatch(RUN_FOLDER, value):
        raise ValueError(f"{value!r} is no run's folder")
    return value


def count(value: Any) -> int:
    """A whole number ≥ 1."""
    if type(value) is not int or value < 1:
        raise ValueError(f"{value!r} is no number of epochs or steps")
    return value


def amount(value: Any) -> float:
    """A number ≥ 0."""
    if not _is_number(value) or value < 0:
        raise ValueError(f"{value!r} is no amount")
    return float(value)


def check_history(history: Any, epochs: int) -> None:
    """Every epoch must say all that training says of one."""
    if not isinstance(history, list) or len(history) != epochs:
        raise ValueError("its history has gaps")
    for number, record in enumerate(history, 1):
        if not isinstance(record, dict) or record.keys() != MEASURED | WHERE_KNOWN:
            raise ValueError("its history is not that of a training")
        if record["epoch"] != number:
            raise ValueError("its history has gaps")
        unknown = {name for name, value in record.items() if not _is_number(value)}
        if not unknown <= WHERE_KNOWN or any(record[name] is not None for name in unknown):
            raise ValueError("its history holds something else than numbers")


def check_tensors(tensors: Mapping[str, Tensor]) -> None:
    """Weights, a matrix and sums of probabilities are finite.

    What optimisers keep is squared and may be infinite; buffers are the affair of the network that has them.
    """
    for name, tensor in tensors.items():
        part = name.partition(".")[2].partition(".")[0]
        if part in ("buffers", "best_buffers"):
            continue
        bad = tensor.isnan() if part == "moments" else ~tensor.isfinite()
        if bad.any():
            raise ValueError(f"{name} holds NaN or infinity")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)
