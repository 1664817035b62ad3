"""Audits of numbers: train, judge every label, suggest a value and an interval for it."""

import dataclasses
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import spearmanr

from noiselimit.audit.calibration import drop_averages, mean_of_networks
from noiselimit.audit.diagnostics import select_runs
from noiselimit.audit.issues import AUTOMATIC, Audit, FlagRule, GivenLabels, flag
from noiselimit.audit.noise_rate import estimate_noise_rate
from noiselimit.audit.plan import AuditPlan, value_epochs
from noiselimit.audit.quality import Floats, Labels, Quality
from noiselimit.audit.value_judges import judge_values
from noiselimit.audit.value_model import ValueModel, fit_value_model
from noiselimit.data.arrays import LazyInputs
from noiselimit.data.examples import DataSet, is_labelled, take_examples
from noiselimit.engine.backend import find_device
from noiselimit.engine.preparation import split_examples
from noiselimit.errors import InputError
from noiselimit.runs.run import Run, mean_probabilities
from noiselimit.tasks import Regression
from noiselimit.training import train

FEWEST = 50
"""Labels that an audit needs."""
LEARNED, ERRORS = 0.1, 3.0
"""Rank correlation of predictions and labels that an audit needs, itself and in standard errors."""
TRUSTED = 0.2
"""Probability of being right from which judges learn from a label the second time."""
DIGITS = 100
"""A suggested value is rounded to this part of the labels' spread."""


@dataclass(frozen=True, eq=False)
class ValueFit:
    """The trained runs of an audit, and the model of right and wrong values; like `AuditFit`."""

    task: Regression
    model: ValueModel
    judges: tuple[str, ...]
    runs: list[Run]
    counted: list[bool]
    known_from: int
    warning: str | None = None
    note: str | None = None
    pred_probs: None = None

    def audit(self, given: GivenLabels, rule: FlagRule = AUTOMATIC) -> Audit:
        """Audit the labels [n] that the model was fitted to."""
        labels, model = np.asarray(given.labels, np.float64), self.model
        known, decode = ~np.isnan(labels), self.task.decode
        encoded = (labels - self.task.centre) / self.task.scale
        above, below = model.high - model.value, model.low - model.value
        against = np.sum([(encoded > p + above) | (encoded < p + below) for p in model.predictions], axis=0)
        suggested = _rounded(decode(model.value), labels[known], self.task.scale)
        quality = Quality(
            given=labels[known],  # type: ignore[arg-type]  # values instead of class numbers
            predicted=suggested[known],  # type: ignore[arg-type]
            probability=np.full(int(known.sum()), np.nan),
            gap=np.abs(encoded - model.value)[known],
            label_quality=model.right[known],
            against=against[known],
            joint=np.ones((1, 1)),
            overlap=np.zeros((1, 1)),
        )
        withheld = self.warning is not None and rule == AUTOMATIC
        flags = np.zeros(len(labels), bool)
        flags[known] = False if withheld else flag(quality, rule)
        noise_rate = dataclasses.replace(
            estimate_noise_rate(quality, len(quality), self.known_from), joint=np.ones((1, 1))
        )
        table = pd.DataFrame(
            {
                "is_label_issue": flags,
                "error_probability": model.error_probability,
                "label_quality": model.right,
                "given_label": labels,
                "predicted_label": suggested,
                "low": decode(model.low),
                "high": decode(model.high),
                "gap": np.where(known, np.abs(encoded - model.value), np.nan),
                "models_against": np.where(known, against, np.nan) if not known.all() else against,
                "rank": pd.Series(model.right).rank(method="first").astype("Int64"),
                "row": np.arange(len(labels)),
            }
        )
        attributes: dict[Hashable, Any] = {
            "wrong_labels": noise_rate.wrong,
            "wrong_share": noise_rate.rate,
            "interval": list(noise_rate.interval),
            "known_from": noise_rate.known_from,
        }
        if self.warning is not None:
            attributes = dict.fromkeys(attributes)
        table.attrs = {**attributes, "warning": self.warning, "note": self.note}
        threshold = float(table["error_probability"][flags].min()) if flags.any() else None
        missing = np.flatnonzero(~known)
        return Audit(
            table, noise_rate, threshold, (), missing, rule, len(self.judges), self.warning, self.note
        )


def _rounded(values: Floats, labels: Floats, scale: float) -> Floats:
    """Values with as many digits as their spread warrants; whole if all labels are."""
    digits = int(np.ceil(-np.log10(scale / DIGITS)))
    return np.round(values, min(digits, 0) if (labels == np.round(labels)).all() else digits)


def fit_values(data: DataSet, plan: AuditPlan, *, device: str = "auto", **options: Any) -> ValueFit:
    """Train the plan's runs on the labelled examples, and fit the model of right and wrong values.

    `options` are those of `train`.
    """
    task = data.examples.task
    assert isinstance(task, Regression)
    rows = np.flatnonzero(is_labelled(data.examples))
    if len(rows) < FEWEST:
        raise InputError(
            f"{data.name}: an audit of numbers needs {FEWEST} labels, not {len(rows)}: add more."
        )
    examples = take_examples(data.examples, rows)
    labelled = dataclasses.replace(data, examples=examples, test=None, validation=None, pictures=None)
    if plan.epochs is None:
        settings = plan.settings(labelled)
        epochs = value_epochs(len(rows), settings["batch_size"])
        plan = dataclasses.replace(plan, epochs=epochs // 2 if plan.fast else epochs)
    runs = train(plan.specs(labelled), labelled, device=device, averaged=True, **options)
    networks = np.full(len(data.examples), np.nan)
    y = np.asarray(task.encode(examples.labels), np.float64)
    counted, networks[rows] = _average(runs, y)
    rest = np.flatnonzero(~is_labelled(data.examples))
    if len(rest):
        inputs = take_examples(data.examples, rest).inputs
        chosen = list(compress(runs, counted))
        networks[rest] = mean_probabilities(chosen, inputs, find_device(device))[:, 0]
    labels = np.full(len(data.examples), np.nan)
    labels[rows] = y
    model, judges = _fit_model(networks, labels, data, plan, options.get("threads"))
    runs = [drop_averages(run) for run in runs]
    warning = _check_learning(model.value[rows], y)
    return ValueFit(task, model, judges, runs, counted, len(rows), warning)


def _fit_model(
    networks: Floats, labels: Floats, data: DataSet, plan: AuditPlan, threads: int | None
) -> tuple[ValueModel, tuple[str, ...]]:
    """The model of networks and other judges, and their names.

    The judges learn twice: from all labels, and without those that then are surely wrong.
    """
    given, seed = data.examples.inputs, plan.seeds[0]
    if isinstance(given, LazyInputs) or given.ndim > 2:
        return fit_value_model([networks], labels, np.empty((len(labels), 0)), seed), ("networks",)
    inputs, trusted = np.asarray(given, np.float32), labels
    for _ in range(1 if plan.fast else 2):
        others = judge_values(inputs, trusted, seed, threads=threads, fast=plan.fast)
        model = fit_value_model([networks, *others.values()], labels, inputs, seed)
        if np.count_nonzero(model.right > TRUSTED) >= FEWEST:
            trusted = np.where(model.right > TRUSTED, labels, np.nan)
    return model, ("networks", *others)


def _average(runs: Sequence[Run], labels: Floats) -> tuple[list[bool], Floats]:
    """Which runs count, and their mean prediction [n] of all labels.

    If a run fits the labels that it trained on better than others, it memorised some. Its residuals there are
    then made as large as those of held-out examples.
    """
    shares: list[float | None] = []
    found: list[Floats] = []
    validated = 0
    for run in runs:
        averages = run.averaged
        if averages is None:
            shares.append(None)
            found.append(labels)
            continue
        predicted = np.asarray(mean_of_networks(averages, slice(None))[:, 0], np.float64)
        share = run.spec.validation_share
        held_out = split_examples(len(labels), run.spec.seed, validation_share=share).validation
        validated = len(held_out)
        shares.append(float(np.exp(-np.abs(labels - predicted)[held_out]).mean()))
        found.append(labels - _as_held_out(labels - predicted, held_out))
    counted = select_runs(runs, shares, validated)
    return counted, np.asarray(np.mean(list(compress(found, counted)), axis=0))


def _as_held_out(residual: Floats, held_out: Labels) -> Floats:
    """Residuals [n] of which those in training have at least the median size of those held out."""
    trained = np.setdiff1d(np.arange(len(residual)), held_out)
    sizes = [float(np.median(np.abs(residual[rows]))) for rows in (held_out, trained)]
    scaled = residual.copy()
    scaled[trained] *= max(sizes[0] / max(sizes[1], 1e-9), 1.0)
    return scaled


def _check_learning(predicted: Floats, labels: Floats) -> str | None:
    """A warning if predictions and labels have nothing in common."""
    found = float(spearmanr(predicted, labels).statistic) if np.ptp(predicted) > 0 else 0.0
    if found >= max(LEARNED, ERRORS / len(labels) ** 0.5):
        return None
    return (
        f"Predictions and labels have a rank correlation of {found:.2f}: the models learned next to nothing, "
        "so do not trust this audit; give more examples or better inputs, or try more --epochs."
    )


def name_values(audit: Audit, data: DataSet) -> tuple[Audit, DataSet]:
    """The audit and its data with every value as a class of its own, named by its digits.

    So reports, reviews and corrected copies treat values as they treat labels.
    """
    columns = {name: audit.table[name].to_numpy(np.float64) for name in ("given_label", "predicted_label")}
    clean = data.examples.clean_labels
    every = [*columns.values(), *(() if clean is None else (np.asarray(clean, np.float64),))]
    values = np.unique(np.concatenate(every))
    values = values[~np.isnan(values)]

    def numbers(labels: npt.NDArray[Any]) -> Labels:
        return np.where(np.isnan(labels), -1, np.searchsorted(values, labels)).astype(np.int64)

    codes = {name: pd.array(numbers(labels), "Int64") for name, labels in columns.items()}
    for name in codes:
        codes[name][np.isnan(columns[name])] = pd.NA
    table = audit.table.assign(**codes)
    table.attrs = audit.table.attrs
    named = dataclasses.replace(
        data.examples,
        labels=numbers(np.asarray(data.examples.labels, np.float64)),
        class_names=tuple(format_value(value) for value in values.tolist()),
        clean_labels=None if clean is None else numbers(np.asarray(clean, np.float64)),
    )
    renamed = dataclasses.replace(data, examples=named, test=None, validation=None)
    return dataclasses.replace(audit, table=table), renamed


def format_value(value: float) -> str:
    """All digits of a number; 3.0 is `3`."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
