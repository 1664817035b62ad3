"""From an audit to the page a person looks at."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from noiselimit.audit.galleries import galleries
from noiselimit.audit.issues import Audit
from noiselimit.audit.quality import FARTHEST, Labels
from noiselimit.audit.words import amount_sentence, explanation
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


def make_audit_report(
    audit: Audit, data: DataSet, class_names: Sequence[str], runs: Sequence[Run] = ()
) -> AuditReport:
    """The report on the labels of `data.examples`, row by row those of the audit, for `write_report`.

    `class_names` [C] are those of the columns of the probabilities; `runs` are those that gave them.
    """
    given = _given_numbers(audit, data, class_names)
    flagged = audit.table["is_label_issue"].to_numpy(dtype=bool)
    gaps = audit.table["gap"].to_numpy(dtype=np.float64)
    known = given >= 0
    lines = _lines(runs)
    few = len(class_names) <= MOST_CLASSES
    found = galleries(audit, data, given, class_names)
    return AuditReport(
        title=f"Label audit of {data.name}",
        sentence=amount_sentence(audit.amount),
        explanation=explanation(audit, int(flagged.sum())),
        class_names=class_names,
        transition=audit.amount.transition if few else None,
        confusions=_confusions(audit, class_names, BESIDE_A_MATRIX if few else MOST_CONFUSIONS),
        gaps_kept=gaps[known & ~flagged],
        gaps_flagged=gaps[flagged],
        threshold=audit.threshold,
        galleries=found.shown,
        other_classes=found.others,
        unflagged_classes=found.unflagged,
        runs=lines,
        clean_test=bool(runs) and all(run.metrics["wrong_labels"] is not None for run in runs),
        facts=_facts(audit, data, class_names, runs, lines),
    )


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


def _confusions(audit: Audit, class_names: Sequence[str], most: int) -> list[Confusion]:
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


def _lines(runs: Sequence[Run]) -> list[RunLine]:
    if not runs:
        return []
    settings = differing_settings(runs)
    return [
        run_line(run, chosen, {name: readable(describe_run(run)[name]) for name in settings})
        for run, chosen in zip(runs, choose(runs), strict=True)
    ]


def _facts(
    audit: Audit, data: DataSet, class_names: Sequence[str], runs: Sequence[Run], lines: Sequence[RunLine]
) -> dict[str, str]:
    flagged = int(audit.table["is_label_issue"].sum())
    missing = f", {len(audit.missing):,} more without a label" if len(audit.missing) else ""
    return {
        "Data set": data.name,
        "Labels audited": f"{audit.amount.examples:,}{missing}",
        "Classes": f"{len(class_names):,}",
        "Labels flagged": f"{flagged:,}"
        + (f", from a gap of {audit.threshold:.3f} on" if audit.threshold <= FARTHEST else ""),
        **({"Remarks": " ".join(data.notes)} if data.notes else {}),
        **(run_facts(runs) if runs else {}),
        **({"Runs": "; ".join(dict.fromkeys(map(run_name, lines)))} if lines else {}),
    }
