"""`find_label_issues`: find label errors in your data."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.audit.issues import Audit, FlagRule, GivenLabels, audit_probabilities, describe_missing
from noiselimit.audit.plan import AuditPlan
from noiselimit.data.arrays import label_array
from noiselimit.data.catalogue import as_data_set
from noiselimit.data.examples import (
    DataSet,
    Examples,
    fill_labels,
    is_regression,
    make_examples,
    make_values,
    without_labels,
)
from noiselimit.data.leakage import by_drop, column_notes
from noiselimit.data.memory import encode_gaps, from_memory, to_pandas
from noiselimit.data.table_file import VALUES_NOTE, class_numbers, frame_data_set, value_data_set
from noiselimit.data.tables import is_table
from noiselimit.errors import InputError, Notice
from noiselimit.features.texts import TextFeatures
from noiselimit.progress import embedding_progress

if TYPE_CHECKING:
    from noiselimit.training import Progress


def find_label_issues(
    X: Any = None,  # noqa: N803
    y: Any = None,
    *,
    labels: Any = None,
    pred_probs: Any = None,
    expect_noise: float | None = None,
    budget: int | None = None,
    min_quality: float | None = None,
    precision: float | None = None,
    recall: float | None = None,
    fast: bool = False,
    plan: AuditPlan | None = None,
    seed: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    many_classes: bool = False,
    features: str = "auto",
    task: str = "auto",
    progress: "Callable[[Progress], None] | bool | None" = None,
) -> pd.DataFrame:
    """Find label errors, by training on the data or from class probabilities that you have.

    Parameters
    ----------
    X, y : array [n, …], DataFrame or list of texts; array [n]
        Inputs and labels: numbers, strings or categories; None and NaN are missing labels. X can also be a
        DataSet, Examples or a torch Dataset, which bring their own labels.
    labels, pred_probs : array [n], array [n, C]
        Instead of X and y: labels, and probabilities from a model that was not trained on them, also as the
        first two arguments. Labels are column numbers, or strings whose sorted names are the columns. A
        memory-mapped array is not copied.
    expect_noise, budget, min_quality : float, int, float
        Flag this share of the labels, this many labels, or all labels of lower quality.
    precision, recall : float
        Flag as many labels as possible of which this share should be wrong, or as few as possible with this
        share of the wrong ones. Give at most one of the five. By default labels are flagged that are more
        likely wrong than right.
    fast, many_classes : bool
        Train in half the time, with slightly worse results. Accept fewer than ten examples per class.
    plan, seed, device, threads
        What to train, and how; see `AuditPlan` and `train`.
    features : str
        Pretrained features to train on. Pictures: 'efficientnet-lite0', 'timm:NAME',
        'transformers:NAME_OR_PATH', 'package.module:function' or 'none'; 'auto' is efficientnet-lite0 for
        colour pictures of at least 32 pixels a side, if the extra `images` is installed. Text: 'wordllama',
        'tf-idf', 'sentence-transformers:NAME_OR_PATH' or a function; 'auto' is wordllama if the extra `text`
        is installed, else tf-idf.
    task : {"auto", "classification", "regression"}
        What the labels are. "auto" takes many different numbers for values, and says so.
    progress : bool or function
        True shows the progress on stderr; a function is called as by `train`.

    Returns
    -------
    DataFrame
        One row per example, in data order, with the index of X or else of the labels, if pandas objects.
        Columns of X with identifiers or text are added, as `id_NAME` and `text_NAME`. Other columns:
        `is_label_issue`; `error_probability`, the probability that the label is wrong; `label_quality`, one
        minus that; `given_label`; `predicted_label`; `gap` in [0, √2]; `suggested_probability` of the
        predicted label; `models_against`, the number of models that prefer another class; `rank_in_class`, 1
        for the worst label of its class; `row`. Its `attrs` hold the estimated number of wrong labels, its
        share and interval; they are None, with a `Notice` and no flags by default, if the model learned too
        little. Examples without a label get a prediction only. For regression, `low` and `high` are the
        interval of the suggested value, and `rank` is 1 for the worst label; `gap` is in units of the labels'
        spread.
    """
    trains = fast or many_classes or plan is not None or seed is not None or features != "auto"
    rule = FlagRule(expect_noise, budget, min_quality, precision, recall)
    X, y, labels, pred_probs = _arguments(X, y, labels, pred_probs)  # noqa: N806
    if X is None or labels is not None or pred_probs is not None:
        _check_arguments(X, y, labels, pred_probs, trains=trains)
    notes: tuple[str, ...] = ()
    if X is None:
        audit = audit_probabilities(labels, pred_probs, rule)
        audit = dataclasses.replace(audit, table=with_index(audit.table, labels, pred_probs))
    else:
        options = {"device": device, "threads": threads, "progress": progress}
        plan = _plan(plan, fast, seed)
        audit, notes = _train_and_audit(X, y, rule, plan, features, many_classes, task, **options)
    for message in (*notes, describe_missing(audit.missing.tolist()), audit.warning, audit.note):
        if message:
            warnings.warn(Notice(message), stacklevel=2)
    return audit.table


def _arguments(X: Any, y: Any, labels: Any, pred_probs: Any) -> tuple[Any, Any, Any, Any]:  # noqa: N803
    """The data: labels from a frame of one column, and (labels, pred_probs) in the first two places."""

    def column(values: Any) -> Any:
        frame = to_pandas(values)
        return frame.iloc[:, 0] if isinstance(frame, pd.DataFrame) and frame.shape[1] == 1 else values

    if labels is None and (pred_probs is not None if y is None else pred_probs is None and _is_matrix(y)):
        first = column(X)
        if np.ndim(first) == 1:
            return None, None, first, y if pred_probs is None else pred_probs
    return X, column(y), column(labels), pred_probs


def _is_matrix(values: Any) -> bool:
    """Whether there are several columns."""
    shape: Any = np.shape(values[:1]) if isinstance(values, list | tuple) else getattr(values, "shape", ())
    return len(shape) == 2 and bool(shape[1] > 1)


def _train_and_audit(
    inputs: Any,
    labels: Any,
    rule: FlagRule,
    plan: AuditPlan,
    features: str,
    many_classes: bool,
    task: str,
    **options: Any,
) -> tuple[Audit, tuple[str, ...]]:
    """The audit of inputs and labels as a user passes them, and the notes about the data.

    `options` are the device, threads and progress of `train`.
    """
    from noiselimit.audit.diagnostics import check_data
    from noiselimit.audit.fit import fit
    from noiselimit.features.pictures import PictureFeatures

    progress = options["progress"]
    frozen = PictureFeatures(features, plan.network, options["device"])
    inputs, labels = from_memory(inputs, labels, frozen.stack)
    _check_arguments(inputs, labels, None, None, trains=True)
    with embedding_progress(progress is not True) as show:
        data, given = prepare_data(inputs, labels, TextFeatures(features, progress=show), task)
        data = check_data(data, many_classes=many_classes)
        data = frozen.apply(data, threads=options["threads"], progress=show)
    audit = fit(data, plan, **options).audit(given, rule)
    return dataclasses.replace(audit, table=_with_names(audit.table, data, inputs, labels)), data.notes


def _with_names(table: pd.DataFrame, data: DataSet, inputs: Any, labels: Any) -> pd.DataFrame:
    """With the identifiers among the inputs, and the index of the inputs or else of the labels."""
    return with_index(table.assign(**data.examples.kept) if data.examples.kept else table, inputs, labels)


def with_index(table: pd.DataFrame, *sources: Any) -> pd.DataFrame:
    """With the index of the first source that has one."""
    for given in sources:
        if isinstance(given, pd.DataFrame | pd.Series):
            return table.set_axis(given.index, axis=0)
    return table


def _check_arguments(inputs: Any, y: Any, labels: Any, pred_probs: Any, *, trains: bool) -> None:
    """Require either X and y or labels and pred_probs; `trains`: options for training are set."""
    has_data = isinstance(inputs, DataSet | Examples) or (inputs is not None and y is not None)
    has_probabilities = labels is not None and pred_probs is not None
    mixed = (inputs is not None or y is not None) and (labels is not None or pred_probs is not None)
    matrix = getattr(y, "ndim", 1) > 1
    if mixed or matrix or not (has_data or has_probabilities):
        raise InputError(
            "find_label_issues needs either inputs and labels [n], or labels and probabilities: call "
            "find_label_issues(X, y) or find_label_issues(labels=..., pred_probs=...)."
        )
    if has_probabilities and trains:
        raise InputError(
            "fast, many_classes, plan, seed and features are for training: leave them out with pred_probs."
        )


def _plan(plan: AuditPlan | None, fast: bool, seed: Any) -> AuditPlan:
    if plan is not None and fast:
        raise InputError("plan and fast both set what to train: give one of them.")
    plan = plan or AuditPlan(fast=fast)
    return plan if seed is None else dataclasses.replace(plan, seeds=(seed,))


def prepare_data(
    inputs: Any,
    labels: Any,
    text: TextFeatures = TextFeatures(),  # noqa: B008 - frozen
    task: str = "classification",
) -> tuple[DataSet, GivenLabels]:
    """Turn X and y into a data set; y is None if the inputs bring their own labels."""
    if labels is None:
        data = as_data_set(inputs)
        return data, GivenLabels(data.examples.labels, np.array(data.examples.class_names, object))
    if isinstance(inputs, pd.DataFrame) and isinstance(labels, pd.Series):
        same = inputs.index.equals(labels.index)
        if not same and inputs.index.sort_values().equals(labels.index.sort_values()):
            raise InputError("X and y have the same index in different orders: give y.reindex(X.index).")
    if isinstance(labels, pd.Series):
        column = labels.rename("y").reset_index(drop=True)
    else:
        column = pd.Series(label_array(labels, "y"), name="y")
    if is_regression(column, task):
        data = _prepare_values(inputs, column, text)
        return data, GivenLabels(data.examples.labels, None)
    if is_table(inputs):
        data = frame_data_set(inputs, column, source="X and y", keep_unlabelled=True, text=text)
        assert data.table is not None
        columns = data.table.without_kept(inputs)
        notes = column_notes(columns, data.examples.labels, "X", by_drop)
        data = dataclasses.replace(data, notes=(*data.notes, *notes))
    else:
        filled, missing = fill_labels(column, "y")
        names, numbers = class_numbers(pd.Series(filled, name="y"), "X and y")
        features, table = encode_gaps(inputs, "X")
        examples = make_examples(features, numbers, class_names=names, source="X")
        data = DataSet("X", without_labels(examples, missing), table=table)
    return data, GivenLabels(data.examples.labels, _original_names(data.examples.class_names, column))


def _prepare_values(inputs: Any, column: "pd.Series[Any]", text: TextFeatures) -> DataSet:
    """A data set of inputs and numbers [n]."""
    if is_table(inputs):
        return value_data_set(inputs, column, source="X and y", keep_unlabelled=True, text=text)
    features, table = encode_gaps(inputs, "X")
    examples = make_values(features, column, name="y", source="X and y", keep_unlabelled=True)
    return DataSet("X", examples, table=table, notes=(VALUES_NOTE.format("y"),))


def _original_names(names: tuple[str, ...], labels: "pd.Series[Any]") -> npt.NDArray[Any]:
    """[C] class names with the type that they have among the labels: bool, int or str."""
    kind = pd.api.types.infer_dtype(labels, skipna=True)
    if kind == "boolean":
        return np.array([name == "True" for name in names])
    if kind in ("string", "categorical") or not all(name.removeprefix("-").isdecimal() for name in names):
        return np.array(names, object)
    return np.array([int(name) for name in names])
