"""How many labels are wrong, in words."""

from collections.abc import Sequence

from noiselimit.audit.amount import Amount
from noiselimit.audit.issues import Audit
from noiselimit.audit.known import Known
from noiselimit.audit.quality import FARTHEST
from noiselimit.report.wording import percent

MOST_NAMED = 10
UNTOLD = "How many labels are wrong cannot be told."
EXPLANATION = (
    "The estimate counts labels that the predictions clearly contradict. The range starts at what is wrong "
    "where the predictions are surest, as if all other disagreement came from classes that overlap; it ends "
    "at every disagreement, as if the predictions were always right. Where classes overlap by nature, the "
    "estimate and both ends of the range are too high."
)


def amount_sentence(amount: Amount) -> str:
    """`About 123 of 1,000 labels (12.3 %) are wrong, plausibly between 8.0 % and 20.1 %.`"""
    low, high = (share(end) for end in amount.interval)
    if amount.wrong == 0:
        return f"None of {amount.examples:,} labels seems to be wrong, plausibly up to {high} are."
    verb = "is" if amount.wrong == 1 else "are"
    return (
        f"About {amount.wrong:,} of {amount.examples:,} labels ({share(amount.rate)}) {verb} wrong, "
        f"plausibly between {low} and {high}."
    )


def flagged_sentence(audit: Audit, asked: str = "") -> str:
    """`123 labels are flagged, from a gap of 0.97 on.` and what was not looked at.

    `asked` is what a person said of how many to flag, such as `--budget 100`.
    """
    flagged = int(audit.table["is_label_issue"].sum())
    many = "No label is" if not flagged else "1 label is" if flagged == 1 else f"{flagged:,} labels are"
    why = f", as {asked} asks" if asked else ""
    if audit.silent:
        why = "; --budget N flags the N worst all the same"
    since = f", from a gap of {audit.threshold:.2f} on" if flagged and audit.threshold <= FARTHEST else ""
    return f"{many} flagged{why}{since}."


def missing_sentence(rows: Sequence[int]) -> str:
    """Which examples, by their rows, were not looked at; empty if all were."""
    if not len(rows):
        return ""
    named = ", ".join(map(str, rows[:MOST_NAMED])) + (", …" if len(rows) > MOST_NAMED else "")
    if len(rows) == 1:
        return f"1 example has no label and was not audited: row {named}."
    return f"{len(rows):,} examples have no label and were not audited: rows {named}."


def known_sentence(known: Known, flagged: int) -> str:
    """How right the audit is, where clean labels tell."""
    text = (
        f"By the clean labels {known.wrong:,} are wrong; "
        f"of the flagged ones {known.found:,} are wrong and {flagged - known.found:,} right"
    )
    return f"{text}." if known.gap_auc is None else f"{text}; AUROC of the gap {known.gap_auc:.4f}."


def share(value: float) -> str:
    """A share in per cent, with a digit more where it is below one."""
    return percent(value, 0 if value in (0, 1) else 1 if value >= 0.01 else 2)
