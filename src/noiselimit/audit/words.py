"""How many labels are wrong, in words."""

from noiselimit.audit.amount import Amount
from noiselimit.audit.issues import Audit
from noiselimit.audit.quality import FARTHEST
from noiselimit.report.wording import percent

_MEANING = (
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


def explanation(audit: Audit, flagged: int) -> str:
    """What the range means, what is flagged, and what was not looked at."""
    parts = [_MEANING]
    if flagged == 0:
        parts.append("No label is flagged.")
    else:
        many = "1 label is flagged" if flagged == 1 else f"{flagged:,} labels are flagged"
        since = f", from a gap of {audit.threshold:.2f} on" if audit.threshold <= FARTHEST else ""
        parts.append(f"{many}{since}.")
    if missing := len(audit.missing):
        parts.append(
            "1 example has no label and was not audited."
            if missing == 1
            else f"{missing:,} examples have no label and were not audited."
        )
    return " ".join(parts)


def share(value: float) -> str:
    """A share in per cent, with a digit more where it is below one."""
    return percent(value, 0 if value in (0, 1) else 1 if value >= 0.01 else 2)
