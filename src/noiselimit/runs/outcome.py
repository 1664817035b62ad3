"""From what a row of a cohort left behind to a run: metrics and per-example outputs."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.cohort.outcome import Finished, Record, Scores
from noiselimit.cohort.prepare import PreparedRun
from noiselimit.data.examples import DataSet
from noiselimit.data.lazy import highest_value
from noiselimit.runs import scores
from noiselimit.runs.averaged import make_averaged
from noiselimit.runs.bad_inputs import without_bad_inputs
from noiselimit.runs.run import DataInfo, Run, RunContents, Weights
from noiselimit.spec import RunSpec


def make_run(
    spec: RunSpec, prepared: PreparedRun, finished: Finished, data: DataSet, circumstances: Mapping[str, Any]
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


def _outputs(prepared: PreparedRun, finished: Finished) -> pd.DataFrame:
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


def _metrics(spec: RunSpec, prepared: PreparedRun, finished: Finished, data: DataSet) -> dict[str, Any]:
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
