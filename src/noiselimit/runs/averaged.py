"""Probabilities averaged over the second half of a run's epochs, and their file in the run's folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from noiselimit.cohort.averages import is_averaged
from noiselimit.cohort.outcome import Finished, Scores
from noiselimit.cohort.prepare import PreparedRun
from noiselimit.errors import InputError
from noiselimit.opening import name_for_libraries, require_regular
from noiselimit.runs.run import Averaged, Run

FILE = "averaged.safetensors"
BAD_TENSORS = (safetensors.SafetensorError, KeyError, ValueError, TypeError, AttributeError, RuntimeError)
"""What safetensors raises for files that are damaged, or have types that torch or NumPy have not."""


def make_averaged(prepared: PreparedRun, finished: Finished) -> Averaged | None:
    """In data order; None where nothing was averaged."""
    averaged: Mapping[str, Scores] | None = finished.watched
    if averaged is None:
        return None
    parts = {"train": prepared.split.train, "validation": prepared.split.validation}
    index = np.concatenate(list(parts.values()))
    order = np.argsort(index)
    places = np.split(np.argsort(order), [len(parts["train"])])
    scores = [averaged[part] for part in parts]
    judged = [said.predictor.numpy() for said in scores if said.predictor is not None]
    return Averaged(
        index=index[order],
        classifier=_placed([said.classifier.numpy() for said in scores], places),
        predictor=_placed(judged, places) if judged else None,
    )


def _placed(
    tables: Sequence[npt.NDArray[np.float32]], places: Sequence[npt.NDArray[np.int64]]
) -> npt.NDArray[np.float32]:
    """[n, C]: the rows of every table where its places say; nothing as large is made beside it."""
    placed = np.empty((sum(map(len, tables)), tables[0].shape[1]), np.float32)
    for table, place in zip(tables, places, strict=True):
        placed[place] = table
    return placed


def write_averaged(folder: Path, averaged: Averaged) -> None:
    """Write the file into a run's folder."""
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "index": averaged.index,
        "classifier": averaged.classifier,
    }
    if averaged.predictor is not None:
        arrays["predictor"] = averaged.predictor
    (folder / FILE).write_bytes(safetensors.numpy.save(arrays))


def read_averaged(folder: Path) -> Averaged | None:
    """What the file in a run's folder holds; None where there is none."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        require_regular(path)
        with name_for_libraries(path) as known:
            arrays = safetensors.numpy.load_file(known)
        averaged = Averaged(arrays["index"], arrays["classifier"], arrays.get("predictor"))
    except (OSError, *BAD_TENSORS):
        raise _altered(path) from None
    said = [averaged.classifier] if averaged.predictor is None else [averaged.classifier, averaged.predictor]
    if averaged.index.ndim != 1 or any(
        table.ndim != 2
        or table.shape != said[0].shape
        or len(table) != len(averaged.index)
        or table.dtype != np.float32
        or not np.isfinite(table).all()
        for table in said
    ):
        raise _altered(path)
    if averaged.index.dtype != np.int64 or (np.diff(averaged.index, prepend=-1) <= 0).any():
        raise _altered(path)
    return averaged


def _altered(path: Path) -> InputError:
    return InputError(
        f"{path} cannot be read: it is damaged or altered, so delete the folder and train the run again."
    )


def require_averaged(run: Run) -> None:
    """Refuse a found run that was trained without averages, unless it ended before it would have had any."""
    late = is_averaged(run.spec, run.metrics["last_epoch"])
    if late and not run.failed and run.path is not None and not (run.path / FILE).is_file():
        raise InputError(
            f"{run.path} holds this run without averaged probabilities: delete it or choose another folder."
        )
