"""From what a row of a cohort left behind to a run: metrics and per-example outputs."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import safetensors
import safetensors.numpy

from noiselimit.data.arrays import highest_value
from noiselimit.data.examples import DataSet
from noiselimit.engine.callbacks import is_averaged
from noiselimit.engine.preparation import PreparedRun
from noiselimit.engine.results import Record, RunResult, Scores
from noiselimit.errors import InputError
from noiselimit.files import name_for_libraries, require_regular
from noiselimit.runs import scores
from noiselimit.runs.run import Averaged, DataInfo, Run, RunContents, Weights
from noiselimit.runs.spec import RunSpec


def without_bad_inputs(finished: RunResult, prepared: PreparedRun) -> RunResult:
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
        callback_result=None,
        transition=None,
    )


def _bad_part(finished: RunResult, prepared: PreparedRun) -> str | None:
    if not (np.isfinite(prepared.mean).all() and np.isfinite(prepared.std).all()):
        return "training"
    said = finished.best.items() if finished.best_epoch else ()
    names = {"train": "training"}
    return next(
        (names.get(part, part) for part, scores in said if not scores.classifier.isfinite().all()), None
    )


FILE = "averaged.safetensors"
BAD_TENSORS = (safetensors.SafetensorError, KeyError, ValueError, TypeError, AttributeError, RuntimeError)
"""What safetensors raises for files that are damaged, or have types that torch or NumPy have not."""


def make_averaged(prepared: PreparedRun, finished: RunResult) -> Averaged | None:
    """In data order; None where nothing was averaged."""
    averaged: Mapping[str, Scores] | None = finished.callback_result
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


def make_run(
    spec: RunSpec, prepared: PreparedRun, finished: RunResult, data: DataSet, circumstances: Mapping[str, Any]
) -> Run:
    """The run in memory. `circumstances` (seconds, device, versions, ...) are added to its metrics."""
    finished = without_bad_inputs(finished, prepared)
    info = DataInfo(
        name=data.name,
        class_names=data.examples.class_names,
        input_shape=data.examples.input_shape,
        mean=tuple(np.where(np.isfinite(prepared.mean), prepared.mean, 0).ravel().tolist()),
        std=tuple(np.where(np.isfinite(prepared.std), prepared.std, 1).ravel().tolist()),
        highest=highest_value(data.examples.inputs),
        table=data.table,
        resize=data.resize,
        notes=data.notes,
    )
    metrics = {**_metrics(spec, prepared, finished, data), **circumstances}
    contents = None
    if finished.best_epoch > 0 and finished.classifier is not None:
        weights = Weights(finished.classifier, finished.predictor)
        contents = RunContents(weights, _outputs(prepared, finished), make_averaged(prepared, finished))
    return Run(spec, info, finished.history, metrics, in_memory=contents, trusted=True)


def _indices(prepared: PreparedRun) -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
    split = prepared.split
    return {"train": split.train, "validation": split.validation, "test": split.test}


def _outputs(prepared: PreparedRun, finished: RunResult) -> pd.DataFrame:
    """One row per example in data order, without a data set's own test part: 'predict --test' serves."""
    parts = {part: index for part, index in _indices(prepared).items() if len(index)}
    everything = np.concatenate(list(parts.values()))
    order = np.argsort(everything)
    index = everything[order]
    given, clean, names = prepared.examples.labels, prepared.examples.clean_labels, prepared.examples.names

    def ordered(of_part: Callable[[str], np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        return np.concatenate([of_part(part) for part in parts])[order]  # a column at a time: less to hold

    said = {part: finished.best[part].classifier.numpy() for part in parts}
    judged = {part: _judge(finished.best[part]) for part in parts}
    gaps = ordered(lambda part: scores.gap(judged[part], given[parts[part]]))
    columns: dict[str, Any] = {"index": index}
    if names is not None:
        columns["name"] = [names[row] for row in index]
    unknown = pd.array(np.zeros(len(index), np.int64), dtype="Int64")
    unknown[:] = pd.NA
    columns |= {
        "part": ordered(lambda part: np.full(len(parts[part]), part, object)),
        "given_label": given[index],
        "clean_label": unknown if clean is None else pd.array(clean[index], dtype="Int64"),
        "predicted_label": ordered(lambda part: said[part].argmax(1)),
        "predicted_probability": ordered(lambda part: said[part].max(1)),
        "gap": gaps,
        "label_quality": scores.label_quality(gaps),
        "suggested_label": ordered(lambda part: judged[part].argmax(1)),
        "suggested_probability": ordered(lambda part: judged[part].max(1)),
    }
    return pd.DataFrame(columns)


def _judge(said: Scores) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The probabilities that the gap compares with the label: the predictor's, else the classifier's own."""
    return (said.classifier if said.predictor is None else said.predictor).numpy()


def _entropy_source(prepared: PreparedRun, last: Record | None) -> str | None:
    """Where H(y|x) is from: the noise that was added, or an estimate from the predictor's uncertainty."""
    if last is None or last["noise_entropy"] is None:
        return None
    return "predictor" if prepared.noise_entropy is None else "noise"


def _metrics(spec: RunSpec, prepared: PreparedRun, finished: RunResult, data: DataSet) -> dict[str, Any]:
    chose = data.validation if spec.validation_labels == "clean" else None
    train = prepared.split.train
    given = prepared.examples.labels[train]
    wrong = prepared.examples.wrong
    best = next((r for r in finished.history if r["epoch"] == finished.best_epoch), None)
    last = finished.history[-1] if finished.history else None
    metrics: dict[str, Any] = {
        "status": "failed" if finished.failure else "finished",
        "failure": finished.failure,
        "best_epoch": finished.best_epoch,
        "last_epoch": last["epoch"] if last else 0,
        "validation_accuracy": best["validation_accuracy"] if best else None,
        "validation_loss": best["validation_loss"] if best else None,
        "test_accuracy": best["test_accuracy"] if best else None,
        "last_test_accuracy": last["test_accuracy"] if last else None,
        "memorised_wrong_labels": None,
        "gap_auc": None,
        "last_gap_auc": None,
        "train_examples": len(train),
        "validation_examples": len(prepared.split.validation if chose is None else chose),
        "test_examples": len(data.test) if data.test else len(prepared.split.test),
        "wrong_labels": None,
        "memorised_bits": last["memorised_bits"] if last else None,
        "noise_entropy": last["noise_entropy"] if last else None,
        "noise_entropy_source": _entropy_source(prepared, last),
        "capacity_bits": last["capacity_bits"] if last else None,
    }
    if finished.transition is not None:
        metrics["transition"] = [[round(p, 6) for p in row] for row in finished.transition.tolist()]
    if wrong is not None and last and finished.last:
        flags = wrong[train]
        metrics["wrong_labels"] = float(flags.mean())
        metrics["gap_auc"] = scores.roc_auc(scores.gap(_judge(finished.best["train"]), given), flags)
        if not finished.failure:  # else the last weights are not numbers, and say nothing
            said = finished.last.classifier.numpy().argmax(1)
            metrics["memorised_wrong_labels"] = scores.memorised(said, given, flags)
            metrics["last_gap_auc"] = scores.roc_auc(scores.gap(_judge(finished.last), given), flags)
    return metrics
