"""From an audit to the page a person looks at."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from noiselimit.audit.galleries import galleries
from noiselimit.audit.inputs_used import inputs_used
from noiselimit.audit.issues import Audit
from noiselimit.audit.known import find_known
from noiselimit.audit.quality import FARTHEST, Labels
from noiselimit.audit.words import (
    EXPLANATION,
    UNTOLD,
    amount_sentence,
    flagged_sentence,
    known_sentence,
    missing_sentence,
)
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.report import AuditReport, Confusion, RunLine
from noiselimit.report.heat_map import MOST_CLASSES
from noiselimit.report.wording import run_name
from noiselimit.run_report import describe as describe_run
from noiselimit.run_report import differing_settings, readable, run_facts, run_line
from noiselimit.runs import Run, choose

MOST_CONFUSIONS = 20
BESIDE_A_MATRIX = 8
OF_A_COMPARISON = frozenset({"Data set", "Noise", "Choice", "Entropy of the noise"})
"""What `run_facts` says of runs that compete; here they work together, on labels as they are, and how many of
these are wrong is estimated better than by one predictor's uncertainty."""


def make_audit_report(
    audit: Audit,
    data: DataSet,
    class_names: Sequence[str],
    runs: Sequence[Run] = (),
    counted: Sequence[bool] | None = None,
    asked: str = "",
) -> AuditReport:
    """The report on the labels of `data.examples`, row by row those of the audit, for `write_report`.

    `class_names` [C] are those of the columns of the probabilities; `runs` are those that were trained for
    them, of which the `counted` ones gave them: those that validation chooses, where nobody says.
    `asked` is what a person said of how many to flag.
    """
    counted = choose(runs) if counted is None else counted
    given = _given_numbers(audit, data, class_names)
    told = audit.warning is None
    flagged = audit.table["is_label_issue"].to_numpy(dtype=bool)
    gaps = audit.table["gap"].to_numpy(dtype=np.float64)
    known = given >= 0
    lines = _lines(runs, counted)
    few = len(class_names) <= MOST_CLASSES
    listed = 0 if not told else BESIDE_A_MATRIX if few else MOST_CONFUSIONS
    found = galleries(audit, data, given, class_names)
    return AuditReport(
        title=f"Label audit of {data.name}",
        sentence=amount_sentence(audit.amount) if told else UNTOLD,
        warning=audit.warning or "",
        flagged=_flagged(audit, data, asked),
        explanation=EXPLANATION if told else "",
        class_names=class_names,
        transition=audit.amount.transition if few and told else None,
        confusions=confusions(audit, class_names, listed),
        gaps_kept=gaps[known & ~flagged],
        gaps_flagged=gaps[flagged],
        threshold=audit.threshold,
        galleries=found.shown,
        worst=found.worst,
        other_classes=found.others,
        unflagged_classes=found.unflagged,
        runs=lines,
        clean_test=bool(runs) and all(run.metrics["wrong_labels"] is not None for run in runs),
        wrong_share=(audit.amount.rate or None) if told else None,
        facts=_facts(audit, data, class_names, runs, lines),
    )


def _flagged(audit: Audit, data: DataSet, asked: str) -> str:
    known = find_known(audit, data)
    parts = [flagged_sentence(audit, asked), audit.note or "", missing_sentence(audit.missing.tolist())]
    if known is not None:
        parts.append(known_sentence(known, int(audit.table["is_label_issue"].sum())))
    return " ".join(part for part in parts if part)


def _given_numbers(audit: Audit, data: DataSet, class_names: Sequence[str]) -> Labels:
    """Given labels [n] as numbers of columns, −1 where missing; the inputs of a report are checked here."""
    column = audit.table["given_label"]
    classes = len(audit.amount.joint)
    if len(column) != len(data.examples):
        raise InputError(
            f"the audit has {len(column)} rows but {data.name} has {len(data.examples)} examples: "
            "give the data that were audited."
        )
    if len(class_names) != classes:
        raise InputError(f"there are {len(class_names)} class names but {classes} classes: give one each.")
    if pd.api.types.is_numeric_dtype(column.dtype):
        return np.asarray(column.fillna(-1).to_numpy(dtype=np.int64))
    names = sorted(set(column.dropna()))
    if list(class_names) != names:  # else the matrix would carry wrong names
        raise InputError("class names are not those of the labels in sorted order: give them so.")
    return np.asarray(pd.Index(names).get_indexer(pd.Index(column)), np.int64)


def confusions(audit: Audit, class_names: Sequence[str], most: int) -> list[Confusion]:
    """The largest cells off the diagonal; nothing larger than [C, C] is made."""
    labels = audit.amount.joint * audit.amount.examples
    np.fill_diagonal(labels, 0.0)
    flat = labels.ravel()
    largest = np.argsort(-flat, kind="stable")[:most]
    return [
        Confusion(class_names[cell // len(class_names)], class_names[cell % len(class_names)], flat[cell])
        for cell in largest
        if flat[cell] > 0
    ]


def _lines(runs: Sequence[Run], counted: Sequence[bool]) -> list[RunLine]:
    if not runs:
        return []
    settings = differing_settings(runs)
    # No epoch is marked: probabilities are means over many of them, not those of a chosen one.
    return [
        replace(
            run_line(run, counts, {name: readable(describe_run(run)[name]) for name in settings}),
            best_epoch=None,
        )
        for run, counts in zip(runs, counted, strict=True)
    ]


def _facts(
    audit: Audit, data: DataSet, class_names: Sequence[str], runs: Sequence[Run], lines: Sequence[RunLine]
) -> dict[str, str]:
    flagged = int(audit.table["is_label_issue"].sum())
    missing = f", {len(audit.missing):,} more without a label" if len(audit.missing) else ""
    facts = run_facts(runs) if runs else {}
    scaled = audit.amount.known_from < audit.amount.examples
    return {
        "Data set": data.name,
        "Labels audited": f"{audit.amount.examples:,}{missing}",
        "Classes": f"{len(class_names):,}",
        "Inputs": inputs_used(data),
        "Labels flagged": f"{flagged:,}"
        + (f", from a gap of {audit.threshold:.3f} on" if audit.threshold <= FARTHEST else ""),
        **({"Remarks": " ".join(data.notes)} if data.notes else {}),
        **{name: fact for name, fact in facts.items() if name not in OF_A_COMPARISON},
        **({"Probabilities": _whose(lines, scaled=scaled)} if lines else {}),
    }


def _whose(lines: Sequence[RunLine], *, scaled: bool) -> str:
    """Which runs gave the probabilities, and which were left out."""
    several = len({line.seed for line in lines}) > 1
    counted, others = (
        "; ".join(run_name(line, seed=several) for line in lines if line.chosen == counts)
        for counts in (True, False)
    )
    said = f"mean of classifier and predictor over the second half of the epochs, of {counted}"
    if scaled:
        said += "; labels that trained were brought to the scale of labels held out"
    return f"{said}; left out for clearly worse validation: {others}" if others else said
