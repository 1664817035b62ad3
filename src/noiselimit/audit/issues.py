"""The result of an audit: a table of label issues, the noise rate, and sentences that describe them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.audit.label_model import LabelModel, fit_label_model
from noiselimit.audit.noise_rate import MIN_BEYOND_CHANCE, NoiseRate, agreement, estimate_noise_rate
from noiselimit.audit.quality import Flags, Floats, Labels, Probabilities, Quality, chunks, measure
from noiselimit.data.arrays import as_array, encode_labels, read_labels
from noiselimit.data.examples import MISSING_LABEL, DataSet, fill_labels
from noiselimit.errors import InputError, number
from noiselimit.report.content import percent
from noiselimit.runs.result import roc_auc

TOLERANCE = 1e-3  # of a row sum: enough for four decimals or half precision
MIN_LABELS = 50
"""With fewer labels, low agreement may be chance."""
ROWS_NAMED = 10
SHARES = {
    "expect_noise": {"below": 1.0},
    "min_quality": {"at_most": 1.0},
    "precision": {"at_most": 1.0},
    "recall": {"at_most": 1.0},
}
"""Fields of `FlagRule` that are shares, and their limits."""
NO_ESTIMATE = "The number of wrong labels cannot be estimated."
EXPLANATION = (
    "The estimate is the sum over all labels of the probability of being wrong. The range should hold the "
    "true share with a probability of 90 %. A disagreement counts as far as the models are right when they "
    "are that sure: where classes overlap, they are never sure."
)
MIN_OVERLAP, MIN_ALIKE, PAIRS_NAMED = 0.15, 10.0, 3
"""Share of the smaller class, and number of examples, from which two classes are reported as hard to tell
apart, and how many pairs are named."""


@dataclass(frozen=True)
class FlagRule:
    """Which labels to flag; set at most one field. By default those that are more likely wrong than right."""

    expect_noise: float | None = None
    """Flag this share of the labels, the worst first."""
    budget: int | None = None
    """Flag this many labels, the worst first."""
    min_quality: float | None = None
    """Flag every label of lower quality."""
    precision: float | None = None
    """Flag as many labels as possible while this share of them should be wrong."""
    recall: float | None = None
    """Flag as few labels as possible while this share of the wrong ones should be among them."""

    def __post_init__(self) -> None:
        given = [name for name, value in vars(self).items() if value is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} each set how many labels to flag: give one of them.")
        for name, limits in SHARES.items():
            if getattr(self, name) is not None:
                value = number(name, getattr(self, name), at_least=0.0, **limits)
                object.__setattr__(self, name, value)
        whole = isinstance(self.budget, Integral) and not isinstance(self.budget, bool)
        if self.budget is not None and not (whole and self.budget >= 0):
            raise InputError(f"budget is {self.budget!r}: give a whole number ≥ 0.")

    def __str__(self) -> str:
        """The option as typed, such as `--budget 20`; empty if none is set."""
        options = (f"--{name.replace('_', '-')} {v:.15g}" for name, v in vars(self).items() if v is not None)
        return " ".join(options)


AUTOMATIC = FlagRule()


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of an audit."""

    table: pd.DataFrame
    """One row per example in data order; see `find_label_issues` for the columns."""
    noise_rate: NoiseRate
    """Not meaningful if there is a warning."""
    threshold: float | None
    """The lowest probability of being wrong among the flagged labels; None if nothing is flagged."""
    ambiguous: tuple[tuple[int, int, float], ...]
    """Pairs of classes that are hard to tell apart, and the share of the smaller that looks like either."""
    missing: Labels
    """Rows without a label; they are in the table but never flagged."""
    rule: FlagRule
    """How many labels the user wanted to be flagged."""
    models: int
    """Number of models that judged."""
    warning: str | None = None
    """Why the audit cannot be trusted, if so."""
    note: str | None = None
    """What could be done better, if anything."""

    @property
    def flags_withheld(self) -> bool:
        """Whether nothing is flagged because of the warning."""
        return self.warning is not None and self.rule == AUTOMATIC

    @property
    def flagged(self) -> int:
        """Number of flagged labels."""
        return int(self.table["is_label_issue"].sum())


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """Labels as class numbers, with the user's own names for the classes."""

    labels: Labels
    """[n]; −1 if missing."""
    names: npt.NDArray[Any] | pd.Categorical | None
    """[C]; None if the labels are the class numbers themselves. With a categorical, labels are one, too."""

    @property
    def missing(self) -> Flags:
        """[n]"""
        return np.asarray(self.labels < 0)

    def to_names(self, labels: Labels) -> Any:
        """Convert class numbers to the user's labels."""
        return labels if self.names is None else self.names[labels]


def audit_probabilities(labels: Any, pred_probs: Any, rule: FlagRule = AUTOMATIC) -> Audit:
    """Audit labels [n] with class probabilities [n, C], both as a user passes them."""
    probabilities = check_probabilities(pred_probs)
    given = check_labels(labels, *probabilities.shape)
    if isinstance(pred_probs, pd.DataFrame):
        names = range(len(pred_probs.columns)) if given.names is None else list(given.names)
        if set(pred_probs.columns) == set(names):  # they may be in another order
            probabilities = pred_probs[names].to_numpy(probabilities.dtype)
    model = fit_label_model([probabilities], given.labels)
    return audit_labels(given, model, rule, note=_disagreement_note(given, probabilities))


def audit_labels(
    given: GivenLabels,
    model: LabelModel,
    rule: FlagRule = AUTOMATIC,
    *,
    warning: str | None = None,
    note: str | None = None,
    known_from: int | None = None,
) -> Audit:
    """Audit checked labels [n] with a model fitted to them.

    With a `warning`, there is no estimate, and only labels that the `rule` asks for are flagged.
    """
    labelled, rest = ~given.missing, np.flatnonzero(given.missing)
    quality = measure(model, given.labels)
    noise_rate = estimate_noise_rate(quality, model.anchors, known_from)
    withheld = warning is not None and rule == AUTOMATIC
    flags = np.zeros(len(quality), bool) if withheld else flag(quality, rule)
    table = _make_table(given, quality, flags, labelled)
    if len(rest):
        true_classes = model.true_classes(rest)
        table.loc[rest, "predicted_label"] = given.to_names(true_classes.argmax(1).astype(np.int64))
        table.loc[rest, "suggested_probability"] = true_classes.max(1)
    attributes: dict[Hashable, Any] = {
        "wrong_labels": noise_rate.wrong,
        "wrong_share": noise_rate.rate,
        "interval": list(noise_rate.interval),
        "known_from": noise_rate.known_from,
    }
    if warning is not None:
        attributes = dict.fromkeys(attributes)
    table.attrs = {**attributes, "warning": warning, "note": note}
    threshold = 1.0 - float(quality.label_quality[flags].max()) if flags.any() else None
    ambiguous = find_ambiguous(quality)
    return Audit(
        table, noise_rate, threshold, ambiguous, rest.astype(np.int64), rule, len(model.judges), warning, note
    )


def check_probabilities(values: Any) -> Probabilities:
    """Return pred_probs as floats [n, C ≥ 2] whose rows sum to 1; floats are not copied."""
    found = as_array(values, "pred_probs", "probabilities")
    if found.ndim != 2 or not len(found) or found.shape[1] < 2 or found.dtype.kind not in "biuf":
        raise InputError(
            f"pred_probs have shape {list(found.shape)} and type {found.dtype}: give numbers, one row per "
            "example and one column per class, at least two."
        )
    probabilities = found if found.dtype.kind == "f" else found.astype(np.float32)
    for part in chunks(*probabilities.shape):
        values = np.asarray(probabilities[part])
        sums = values.sum(1, dtype=np.float64)
        valid = (values.min(1) >= -TOLERANCE) & (np.abs(sums - 1) <= TOLERANCE)  # false for NaN
        if not valid.all():
            row = part.start + int(np.argmin(valid))
            raise InputError(
                f"row {row} of pred_probs holds NaN or a negative number, or does not sum to 1: give "
                "probabilities."
            )
    return probabilities


def check_labels(values: Any, rows: int, classes: int) -> GivenLabels:
    """Return labels [rows] as numbers of the columns of pred_probs.

    Labels are column numbers, or strings whose sorted names are the columns, or a categorical whose
    categories are the columns. None, NaN and blank strings are missing labels.
    """
    array = values.array if isinstance(values, pd.Series | pd.Index) else values
    names: Any = None
    if isinstance(array, pd.Categorical) and len(array.categories) == classes:
        labels = np.asarray(array.codes, np.int64)
        numbers = array.categories.to_numpy()
        if numbers.dtype.kind not in "iu" or bool((numbers != np.arange(len(numbers))).any()):
            names = pd.Categorical.from_codes(np.arange(classes), dtype=array.dtype)
    else:
        filled, missing = fill_labels(values, "labels")
        known = read_labels(filled, "labels")
        columns = [str(column) for column in range(classes)]
        if known.dtype.kind == "U":
            names = np.unique(known)
            columns = names.tolist()
        if len(columns) != classes:
            raise InputError(
                f"labels have {len(columns)} different names but pred_probs have {classes} columns: give "
                "column numbers as labels, or one column for every name in sorted order."
            )
        labels = np.where(missing, MISSING_LABEL, encode_labels(known, columns, "labels"))
    if len(labels) != rows:
        raise InputError(
            f"there are {len(labels)} labels but {rows} rows of pred_probs: give one label per row."
        )
    if len(np.unique(labels[labels >= 0])) < 2:
        raise InputError("all labels are missing or of one class: give labels of at least two classes.")
    return GivenLabels(labels, names)


def _disagreement_note(given: GivenLabels, probabilities: Probabilities) -> str | None:
    """A note if probabilities and labels agree no more than by chance, as with columns in wrong order."""
    labelled = ~given.missing
    predicted = np.empty(len(labelled), np.int64)
    for part in chunks(*probabilities.shape):  # argmax copies what is mapped from a file
        predicted[part] = probabilities[part].argmax(1)
    found = agreement(predicted[labelled], given.labels[labelled], probabilities.shape[1])
    if found.beyond_chance >= MIN_BEYOND_CHANCE or found.examples < MIN_LABELS:
        return None
    return (
        f"The probabilities agree with {percent(found.share)} of the labels; by chance it would be "
        f"{percent(found.chance)}. Check that the columns are in the order of the label numbers, categories "
        "or sorted names."
    )


def flag(quality: Quality, rule: FlagRule) -> Flags:
    """Flags [n] of labels that the rule chooses."""
    if rule == AUTOMATIC:
        return np.asarray((quality.label_quality < 0.5) & quality.disagrees)
    if rule.min_quality is not None:
        return np.asarray(quality.label_quality < rule.min_quality)
    worst = np.argsort(quality.label_quality, kind="stable")  # ties stay in data order
    flags = np.zeros(len(quality), bool)
    flags[worst[: _count_flags(quality.error_probability[worst], rule)]] = True
    return flags


def _count_flags(errors: Floats, rule: FlagRule) -> int:
    """How many of the labels to flag, whose probabilities of being wrong [n] are in descending order."""
    if rule.budget is not None:
        return min(int(rule.budget), len(errors))
    if rule.expect_noise is not None:
        return round(rule.expect_noise * len(errors))
    found = np.cumsum(errors)
    if rule.precision is not None:
        return int(np.count_nonzero(found >= rule.precision * np.arange(1, len(errors) + 1)))
    assert rule.recall is not None
    return int(np.count_nonzero(found < rule.recall * found[-1])) + bool(rule.recall * found[-1])


def find_ambiguous(quality: Quality) -> tuple[tuple[int, int, float], ...]:
    """Pairs of classes that are hard to tell apart, the worst first."""
    sizes = np.maximum(quality.joint.sum(0), 1.0)
    shares = np.triu(quality.overlap / np.minimum.outer(sizes, sizes))
    shares[quality.overlap < MIN_ALIKE] = 0.0
    pairs = np.argsort(-shares, axis=None, kind="stable")[:PAIRS_NAMED]
    found = ((*divmod(int(pair), len(shares)), float(shares.flat[pair])) for pair in pairs)
    return tuple(pair for pair in found if pair[2] >= MIN_OVERLAP)


def _make_table(given: GivenLabels, quality: Quality, flags: Flags, labelled: Flags) -> pd.DataFrame:
    """The table; rows without a label hold NaN, or NA in integer columns."""
    columns = {
        "is_label_issue": flags,
        "error_probability": quality.error_probability,
        "label_quality": quality.label_quality,
        "given_label": given.to_names(quality.given),
        "predicted_label": given.to_names(quality.predicted),
        "gap": quality.gap,
        "suggested_probability": quality.probability,
        "models_against": quality.against,
    }
    table = pd.DataFrame({**columns, "rank_in_class": _ranks(quality)}, copy=False)
    if not labelled.all():
        integers = ["rank_in_class", "models_against"] + (
            ["given_label", "predicted_label"] if given.names is None else []
        )
        table = table.astype(dict.fromkeys(integers, "Int64"))
        table.index = pd.Index(np.flatnonzero(labelled))
        table = table.reindex(np.arange(len(labelled)))
        table["is_label_issue"] = table["is_label_issue"].eq(True)
    table["row"] = np.arange(len(labelled), dtype=np.int32)
    return table


def _ranks(quality: Quality) -> npt.NDArray[np.int32]:
    """1 for the label of lowest quality among those of its class, and so on; ties in data order."""
    ranks = np.empty(len(quality), np.int32)
    for label in range(len(quality.joint)):
        rows = np.flatnonzero(quality.given == label)
        rows = rows[np.argsort(quality.label_quality[rows], kind="stable")]
        ranks[rows] = np.arange(1, len(rows) + 1)
    return ranks


def compare_with_clean_labels(audit: Audit, data: DataSet) -> dict[str, Any] | None:
    """Number of wrong labels, of those found, and ROC AUC of the order; None if clean labels are unknown."""
    if data.examples.wrong is None:
        return None
    wrong = np.delete(data.examples.wrong, audit.missing)
    flagged = np.delete(audit.table["is_label_issue"].to_numpy(bool), audit.missing)
    quality = np.delete(audit.table["label_quality"].to_numpy(np.float64), audit.missing)
    return {
        "wrong": int(wrong.sum()),
        "found": int((wrong & flagged).sum()),
        "auc": roc_auc(-quality, wrong),
    }


def describe_noise_rate(noise_rate: NoiseRate) -> str:
    """`About 12.3 % (8.0 % to 20.1 %) of the 1,000 labels look wrong, about 123.`"""
    low, high = (share(end) for end in noise_rate.interval)
    if noise_rate.wrong == 0:
        return f"None of {noise_rate.examples:,} labels looks wrong; at most {high} may be."
    return (
        f"About {share(noise_rate.rate)} ({low} to {high}) of the {noise_rate.examples:,} labels look wrong, "
        f"about {noise_rate.wrong:,}."
    )


def describe_audit(audit: Audit, data: DataSet) -> list[str]:
    """What is flagged, what could be done better, and how right it is, a sentence each."""
    flagged = audit.flagged
    count = "No label is" if not flagged else "1 label is" if flagged == 1 else f"{flagged:,} labels are"
    why = f" ({audit.rule})" if audit.rule != AUTOMATIC else ""
    if audit.flags_withheld:
        why = "; use --budget N to flag the N worst"
    threshold = (
        "" if audit.threshold is None else f", wrong with {percent(audit.threshold)} probability or more"
    )
    sentences = [
        f"{count} flagged{why}{threshold}.",
        describe_ambiguous(audit, data.examples.class_names),
        audit.note,
        describe_missing(audit.missing.tolist()),
    ]
    truth = compare_with_clean_labels(audit, data)
    if truth is not None:
        found, auc = truth["found"], truth["auc"]
        sentences.append(
            f"According to the clean labels, {truth['wrong']:,} labels are wrong; of the flagged ones "
            f"{found:,} are wrong and {flagged - found:,} right"
            + ("." if auc is None else f"; AUROC of the order {auc:.4f}.")
        )
    return [sentence for sentence in sentences if sentence]


def describe_ambiguous(audit: Audit, class_names: Sequence[str]) -> str:
    """Which classes are hard to tell apart; empty if none are."""
    pairs = [f"'{class_names[a]}' and '{class_names[b]}' ({percent(part)})" for a, b, part in audit.ambiguous]
    if not pairs:
        return ""
    return (
        f"Hard to tell apart, so check these labels with care: {', '.join(pairs)} of the smaller class "
        "look like either."
    )


def describe_missing(rows: Sequence[int]) -> str:
    """Which rows were not audited for lack of a label; empty if all were."""
    if not len(rows):
        return ""
    named = ", ".join(map(str, rows[:ROWS_NAMED])) + (", …" if len(rows) > ROWS_NAMED else "")
    if len(rows) == 1:
        return f"1 example has no label and was not audited: row {named}."
    return f"{len(rows):,} examples have no label and were not audited: rows {named}."


def share(value: float) -> str:
    """A share in per cent, with two decimals below 1 %."""
    return percent(value, 0 if value in (0, 1) else 1 if value >= 0.01 else 2)
