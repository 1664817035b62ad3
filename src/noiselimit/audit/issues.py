"""How many labels are wrong, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.audit.noise_rate import LEAST, NoiseRate, agreement, estimate_noise_rate, gap_threshold
from noiselimit.audit.quality import (
    MAX_GAP,
    NO_THRESHOLD,
    Flags,
    Labels,
    Probabilities,
    Quality,
    RowSubset,
    chunks,
    measure,
    rank_in_class,
    worst_first,
)
from noiselimit.audit.validation import GivenLabels, check_labels, check_probabilities
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError, number
from noiselimit.report.content import percent
from noiselimit.runs.scores import roc_auc

FEWEST = 50
"""Labels, of fewer of which nobody can tell chance from disorder."""


@dataclass(frozen=True)
class FlagRule:
    """How many labels a person wants flagged; at most one is given, and none leaves it to the estimate."""

    expect_noise: float | None = None
    """This share of the labels: the worst."""
    budget: int | None = None
    """This many labels: the worst; all of them where there are fewer."""
    min_quality: float | None = None
    """Every label of lower quality."""

    def __post_init__(self) -> None:
        said = [name for name, value in vars(self).items() if value is not None]
        if len(said) > 1:
            raise InputError(f"{' and '.join(said)} each say how many labels to flag: give one of them.")
        if self.expect_noise is not None:
            number("expect_noise", self.expect_noise, at_least=0.0, below=1.0)
        if self.min_quality is not None:
            number("min_quality", self.min_quality, at_least=0.0, at_most=1.0)
        whole = isinstance(self.budget, Integral) and not isinstance(self.budget, bool)
        if self.budget is not None and not (whole and self.budget >= 0):
            raise InputError(f"budget is {self.budget!r}: give a whole number ≥ 0.")

    @property
    def given(self) -> bool:
        """Whether a person said anything."""
        return any(value is not None for value in vars(self).values())


@dataclass(frozen=True, eq=False)
class Audit:
    """All that probabilities say about labels."""

    table: pd.DataFrame
    """One row per example in data order; see `find_label_issues` for the columns."""
    noise_rate: NoiseRate
    """Not to be told where there is a warning."""
    threshold: float
    """Gap from which on labels are flagged."""
    missing: Labels
    """Rows without a label; they are in the table, never flagged."""
    rule_given: bool = False
    """Whether a person said how many to flag."""
    warning: str | None = None
    """Why nothing can be said of the labels, if so, in one sentence."""
    note: str | None = None
    """What could be done better, likewise."""

    @property
    def flags_withheld(self) -> bool:
        """Whether nothing is flagged because nothing can be said, and nobody insisted."""
        return self.warning is not None and not self.rule_given


def audit_probabilities(labels: Any, pred_probs: Any, rule: FlagRule | None = None) -> Audit:
    """Everything that class probabilities [n, C] say about labels [n], as people have them."""
    probabilities = check_probabilities(pred_probs)
    given = check_labels(labels, *probabilities.shape)
    return audit_labels(given, probabilities, rule, note=_of_other_labels(given, probabilities))


def audit_labels(
    given: GivenLabels,
    probabilities: Probabilities,
    rule: FlagRule | None = None,
    warning: str | None = None,
    note: str | None = None,
    *,
    known_from: int | None = None,
) -> Audit:
    """The same of labels and probabilities [n, C] that are known to be in order.

    With a `warning` that nothing can be said, there is no estimate, and nothing is flagged but what a person
    asks for. `known_from` is as for `NoiseRate`.
    """
    rule = rule or FlagRule()
    there = ~given.missing
    whole = bool(there.all())
    labelled = probabilities if whole else RowSubset(probabilities, np.flatnonzero(there))
    quality = measure(labelled, given.labels if whole else given.labels[there])
    noise_rate = estimate_noise_rate(labelled, quality, known_from)
    if warning is not None and not rule.given:
        flags, threshold = np.zeros(len(quality), bool), NO_THRESHOLD
    else:
        flags, threshold = flag(quality, noise_rate, rule)
    table = _table(given, quality, flags, there)
    if not whole:
        rest = np.flatnonzero(~there)
        table.loc[rest, "predicted_label"] = given.to_names(probabilities[rest].argmax(1).astype(np.int64))
        table.loc[rest, "suggested_probability"] = probabilities[rest].max(1).astype(np.float64)
    told = warning is None
    table.attrs = {
        "wrong_labels": noise_rate.wrong if told else None,
        "share": noise_rate.rate if told else None,
        "interval": list(noise_rate.interval) if told else None,
        "known_from": noise_rate.known_from if told else None,
        "warning": warning,
        "note": note,
    }
    missing = np.flatnonzero(~there).astype(np.int64)
    return Audit(table, noise_rate, threshold, missing, rule.given, warning, note)


def _of_other_labels(given: GivenLabels, probabilities: Probabilities) -> str | None:
    """A sentence where the probabilities know next to nothing of the labels, as with columns in disorder."""
    predicted = np.empty(len(probabilities), np.int64)
    for piece in chunks(*probabilities.shape):
        predicted[piece] = np.asarray(probabilities[piece]).argmax(1)
    there = ~given.missing
    found = agreement(predicted[there], given.labels[there], probabilities.shape[1])
    if found.beyond_chance >= LEAST or found.examples < FEWEST:
        return None
    return (
        f"The probabilities agree with {percent(found.share)} of the labels, and would with "
        f"{percent(found.chance)} by chance, so they say next to nothing of these: give a column for every "
        "class in the order of the labels' numbers, categories or sorted names."
    )


def flag(quality: Quality, noise_rate: NoiseRate, rule: FlagRule) -> tuple[Flags, float]:
    """[n] whether a label is an issue, and the gap from which on."""
    if rule.min_quality is not None:
        return quality.label_quality < rule.min_quality, (1.0 - rule.min_quality) * MAX_GAP
    if rule.budget is None and rule.expect_noise is None:
        threshold = gap_threshold(noise_rate, quality)
        return (quality.gap >= threshold) & quality.disagrees, threshold
    share = rule.expect_noise
    wanted = round(share * len(quality)) if share is not None else min(int(rule.budget or 0), len(quality))
    worst = worst_first(quality.gap)[:wanted]
    flags = np.zeros(len(quality), bool)
    flags[worst] = True
    return flags, float(quality.gap[worst].min()) if wanted else NO_THRESHOLD


def _table(given: GivenLabels, quality: Quality, flags: Flags, there: Flags) -> pd.DataFrame:
    """Rows without a label hold NaN, or NA in columns of whole numbers."""
    columns = {
        "is_label_issue": flags,
        "label_quality": quality.label_quality,
        "given_label": given.to_names(quality.given),
        "predicted_label": given.to_names(quality.predicted),
        "gap": quality.gap,
        "suggested_probability": quality.probability,
        "rank_in_class": rank_in_class(quality.gap, quality.given),
    }
    table = pd.DataFrame(columns)
    if not there.all():
        table = table.astype({"rank_in_class": "Int64"})
        if given.names is None:
            table = table.astype({"given_label": "Int64", "predicted_label": "Int64"})
        table.index = pd.Index(np.flatnonzero(there))
        table = table.reindex(np.arange(len(there)))
        table["is_label_issue"] = table["is_label_issue"].eq(True)
    table["row"] = np.arange(len(there))
    if given.names is None:
        table["predicted_label"] = table["predicted_label"].astype("Int64" if not there.all() else np.int64)
    return table


@dataclass(frozen=True)
class GroundTruth:
    """Counted among the examples that have a label."""

    wrong: int
    """Labels that are not the clean ones."""
    found: int
    """Of these, the flagged ones."""
    gap_auc: float | None
    """Area under the ROC curve of the gap; None where all labels are wrong or none is."""


def compare_with_clean_labels(audit: Audit, data: DataSet) -> GroundTruth | None:
    """None where clean labels are not known."""
    wrong = data.examples.wrong
    if wrong is None:
        return None
    there = np.ones(len(wrong), bool)
    there[audit.missing] = False
    wrong = wrong[there]
    flagged = audit.table["is_label_issue"].to_numpy(bool)[there]
    gaps = audit.table["gap"].to_numpy(np.float64)[there]
    return GroundTruth(int(wrong.sum()), int((wrong & flagged).sum()), roc_auc(gaps, wrong))


MOST_NAMED = 10
NO_ESTIMATE = "How many labels are wrong cannot be told."
EXPLANATION = (
    "The estimate counts labels that the predictions clearly contradict. The range starts at what is wrong "
    "where the predictions are surest, as if all other disagreement came from classes that overlap; it ends "
    "at every disagreement, as if the predictions were always right. Where classes overlap by nature, the "
    "estimate and both ends of the range are too high."
)


def describe_noise_rate(noise_rate: NoiseRate) -> str:
    """`About 123 of 1,000 labels (12.3 %) are wrong, plausibly between 8.0 % and 20.1 %.`"""
    low, high = (share(end) for end in noise_rate.interval)
    if noise_rate.wrong == 0:
        return f"None of {noise_rate.examples:,} labels seems to be wrong, plausibly up to {high} are."
    verb = "is" if noise_rate.wrong == 1 else "are"
    return (
        f"About {noise_rate.wrong:,} of {noise_rate.examples:,} labels ({share(noise_rate.rate)}) "
        f"{verb} wrong, "
        f"plausibly between {low} and {high}."
    )


def describe_flags(audit: Audit, asked: str = "") -> str:
    """`123 labels are flagged, from a gap of 0.97 on.` and what was not looked at.

    `asked` is what a person said of how many to flag, such as `--budget 100`.
    """
    flagged = int(audit.table["is_label_issue"].sum())
    many = "No label is" if not flagged else "1 label is" if flagged == 1 else f"{flagged:,} labels are"
    why = f", as {asked} asks" if asked else ""
    if audit.flags_withheld:
        why = "; --budget N flags the N worst all the same"
    since = f", from a gap of {audit.threshold:.2f} on" if flagged and audit.threshold <= MAX_GAP else ""
    return f"{many} flagged{why}{since}."


def describe_missing(rows: Sequence[int]) -> str:
    """Which examples, by their rows, were not looked at; empty if all were."""
    if not len(rows):
        return ""
    named = ", ".join(map(str, rows[:MOST_NAMED])) + (", …" if len(rows) > MOST_NAMED else "")
    if len(rows) == 1:
        return f"1 example has no label and was not audited: row {named}."
    return f"{len(rows):,} examples have no label and were not audited: rows {named}."


def describe_ground_truth(known: GroundTruth, flagged: int) -> str:
    """How right the audit is, where clean labels tell."""
    text = (
        f"By the clean labels {known.wrong:,} are wrong; "
        f"of the flagged ones {known.found:,} are wrong and {flagged - known.found:,} right"
    )
    return f"{text}." if known.gap_auc is None else f"{text}; AUROC of the gap {known.gap_auc:.4f}."


def share(value: float) -> str:
    """A share in per cent, with a digit more where it is below one."""
    return percent(value, 0 if value in (0, 1) else 1 if value >= 0.01 else 2)
