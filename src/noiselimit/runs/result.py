"""From the result of a cohort's row to a run: metrics, gap and label quality of examples, averages."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from noiselimit.data.examples import DataSet
from noiselimit.engine.callbacks import is_averaged
from noiselimit.engine.preparation import PreparedRun
from noiselimit.engine.results import Record, RunResult, Scores
from noiselimit.errors import InputError
from noiselimit.runs.folder import AVERAGED
from noiselimit.runs.run import Averaged, DataInfo, Run, RunContents, Weights
from noiselimit.runs.spec import RunSpec

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def make_run(
    spec: RunSpec, prepared: PreparedRun, result: RunResult, data: DataSet, environment: Mapping[str, Any]
) -> Run:
    """Make a run in memory; `environment` (time, device, versions) becomes part of its metrics."""
    result = _without_bad_inputs(result, prepared)
    info = DataInfo(
        name=data.name,
        class_names=data.examples.class_names,
        input_shape=data.examples.input_shape,
        mean=tuple(np.where(np.isfinite(prepared.mean), prepared.mean, 0).ravel().tolist()),
        std=tuple(np.where(np.isfinite(prepared.std), prepared.std, 1).ravel().tolist()),
        highest=prepared.highest,
        table=data.table,
        resize=data.resize,
        embedding=data.embedding,
        notes=data.notes,
        task=data.examples.task,
    )
    metrics = {**_metrics(spec, prepared, result, data), **environment}
    contents = None
    if result.best_epoch > 0 and result.classifier is not None:
        weights = Weights(result.classifier, result.predictor)
        contents = RunContents(weights, _outputs(prepared, result), _averaged(prepared, result))
    return Run(spec, info, result.history, metrics, in_memory=contents, trusted=True)


def require_averaged(run: Run) -> None:
    """Refuse an existing run that was trained without averages, unless it ended before they begin."""
    late = is_averaged(run.spec, run.metrics["last_epoch"])
    if late and not run.failed and run.path is not None and not (run.path / AVERAGED).is_file():
        raise InputError(
            f"{run.path} holds this run without averaged probabilities: delete it or choose another folder."
        )


def _without_bad_inputs(result: RunResult, prepared: PreparedRun) -> RunResult:
    """Turn the result into a failure if the run met inputs that are not finite.

    The best weights are finite, so an output that is not comes from its input.
    """
    bad = [part for part, each in result.best.items() if not each.classifier.isfinite().all()]
    if not (np.isfinite(prepared.mean).all() and np.isfinite(prepared.std).all()):
        bad = ["train"]
    elif not bad or not result.best_epoch:
        return result
    part = "training" if bad[0] == "train" else bad[0]
    last = result.history[-1] if result.history else {}
    found = f"an output was not a finite number at step {last.get('step', 0)} (epoch {last.get('epoch', 0)})"
    noticed = (result.failure or found).rpartition(": ")[0] or found
    failure = f"{noticed}: inputs of its {part} part hold NaN or an infinite value, so repair them"
    return RunResult(row=result.row, history=result.history, best_epoch=0, failure=failure)


def _metrics(spec: RunSpec, prepared: PreparedRun, result: RunResult, data: DataSet) -> dict[str, Any]:
    selection = data.validation if spec.validation_labels == "clean" else None
    train = prepared.split.train
    scored = train[: len(result.last.classifier)] if result.last else train
    given = prepared.examples.labels[scored]
    wrong, task = prepared.examples.wrong, prepared.examples.task
    nothing: Record = {}
    best = next((record for record in result.history if record["epoch"] == result.best_epoch), nothing)
    last = result.history[-1] if result.history else nothing
    metrics: dict[str, Any] = {
        "status": "failed" if result.failure else "finished",
        "failure": result.failure,
        "best_epoch": result.best_epoch,
        "last_epoch": last.get("epoch", 0),
        "validation_accuracy": best.get("validation_accuracy"),
        "validation_loss": best.get("validation_loss"),
        "test_accuracy": best.get("test_accuracy"),
        "last_test_accuracy": last.get("test_accuracy"),
        "memorised_wrong_labels": None,
        "gap_auc": None,
        "last_gap_auc": None,
        "train_examples": len(train),
        "validation_examples": len(prepared.split.validation if selection is None else selection),
        "test_examples": len(data.test) if data.test else len(prepared.split.test),
        "wrong_labels": None,
        "memorised_bits": last.get("memorised_bits"),
        "noise_entropy": last.get("noise_entropy"),
        "noise_entropy_source": None,
        "capacity_bits": last.get("capacity_bits"),
    }
    if metrics["noise_entropy"] is not None:
        metrics["noise_entropy_source"] = "predictor" if prepared.noise_entropy is None else "noise"
    if result.transition is not None:
        metrics["transition"] = [[round(p, 6) for p in row] for row in result.transition.tolist()]
    if wrong is not None and last and result.last:
        metrics["wrong_labels"] = float(wrong[train].mean())
        flags = wrong[scored]
        metrics["gap_auc"] = roc_auc(task.gaps(_suggested(result.best["train"]), given), flags)
        if not result.failure:  # else the last weights are not finite
            learned = task.reproduces(result.last.classifier.numpy(), given)
            metrics["memorised_wrong_labels"] = float(learned[flags].mean()) if flags.any() else None
            metrics["last_gap_auc"] = roc_auc(task.gaps(_suggested(result.last), given), flags)
    return metrics


def _suggested(each: Scores) -> npt.NDArray[np.float32]:
    """The probabilities that the gap compares with labels: the predictor's, else the classifier's."""
    return (each.classifier if each.predictor is None else each.predictor).numpy()


def _outputs(prepared: PreparedRun, result: RunResult) -> pd.DataFrame:
    """One row per example in data order, except for a separate test part."""
    split = prepared.split
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    # Of vectors in a file, only some are scored.
    parts = {part: index[: len(result.best[part].classifier)] for part, index in parts.items() if len(index)}
    everything = np.concatenate(list(parts.values()))
    order = np.argsort(everything)
    index = everything[order]
    given, clean, names = prepared.examples.labels, prepared.examples.clean_labels, prepared.examples.names

    def ordered(of_part: Callable[[str], Array]) -> Array:
        return np.concatenate([of_part(part) for part in parts])[order]  # column by column saves memory

    task = prepared.examples.task
    classifier = {part: task.suggest(result.best[part].classifier.numpy()) for part in parts}
    suggested = {part: task.suggest(_suggested(result.best[part])) for part in parts}
    gaps = ordered(lambda part: task.gaps(_suggested(result.best[part]), given[parts[part]]))
    kind: Any = task.column_type
    known: Any = [pd.NA] * len(index) if clean is None else task.column(clean[index])
    return pd.DataFrame(
        {
            "index": index,
            **({} if names is None else {"name": [names[row] for row in index]}),
            "part": ordered(lambda part: np.full(len(parts[part]), part, object)),
            "given_label": task.column(given[index]),
            "clean_label": pd.array(known, dtype=kind),
            "predicted_label": ordered(lambda part: classifier[part][0]),
            "predicted_probability": ordered(lambda part: classifier[part][1]),
            "gap": gaps,
            "label_quality": task.quality(gaps),
            "suggested_label": ordered(lambda part: suggested[part][0]),
            "suggested_probability": ordered(lambda part: suggested[part][1]),
        }
    )


def _averaged(prepared: PreparedRun, result: RunResult) -> Averaged | None:
    """In data order; None if nothing was averaged."""
    averaged: Mapping[str, Scores] | None = result.callback_result
    if averaged is None:
        return None
    places = [prepared.split.train, prepared.split.validation]
    index = np.concatenate(places)
    order = np.argsort(index)
    rows = np.split(np.argsort(order), [len(places[0])])
    found = [averaged["train"], averaged["validation"]]

    def ordered(tables: list[Array]) -> Array:
        placed = np.empty((len(index), tables[0].shape[1]), np.float32)  # no copy as large beside it
        for table, own in zip(tables, rows, strict=True):
            placed[own] = table
        return placed

    predictor = [each.predictor.numpy() for each in found if each.predictor is not None]
    return Averaged(
        index=index[order],
        classifier=ordered([each.classifier.numpy() for each in found]),
        predictor=ordered(predictor) if predictor else None,
    )


def roc_auc(gaps: Floats, wrong: Flags) -> float | None:
    """Probability that a wrong label has a larger gap than a right one, ties half; None without both."""
    positives = int(wrong.sum())
    negatives = len(wrong) - positives
    if not positives or not negatives:
        return None
    rank_sum = float(rankdata(gaps)[wrong].sum())
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)
