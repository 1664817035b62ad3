"""The result of an audit as a dictionary, as sentences and as files."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from noiselimit.audit.fit import AuditFit
from noiselimit.audit.folder import (
    CSV,
    PARQUET,
    PRED_PROBS,
    REPORT,
    audit_folder,
    to_class_names,
    write_audit_files,
)
from noiselimit.audit.issues import (
    NO_ESTIMATE,
    Audit,
    compare_with_clean_labels,
    describe_audit,
    describe_noise_rate,
)
from noiselimit.audit.quality import MAX_GAP
from noiselimit.audit.report import confusions, describe_inputs, make_audit_report
from noiselimit.data.examples import DataSet
from noiselimit.report.html import write_report

WORST = 12
MOST_CONFUSIONS, FEWEST_CONFUSED = 6, 2.5


def make_summary(audit: Audit, fit: AuditFit, data: DataSet) -> dict[str, Any]:
    """What `noiselimit audit --json` prints, except the paths: JSON values without NaN."""
    truth, reliable = compare_with_clean_labels(audit, data), audit.warning is None
    return {
        "data": data.name,
        "audited_labels": audit.noise_rate.examples,
        "classes": data.examples.classes,
        "inputs": describe_inputs(data),
        "columns": None if data.table is None else [column.name for column in data.table.columns],
        "remarks": list(data.notes),
        "wrong_labels": audit.noise_rate.wrong if reliable else None,
        "wrong_share": audit.noise_rate.rate if reliable else None,
        "interval": list(audit.noise_rate.interval) if reliable else None,
        "known_from": audit.noise_rate.known_from if reliable else None,
        "flagged": audit.flagged,
        "gap_threshold": audit.threshold if audit.threshold <= MAX_GAP else None,
        "worst": _worst(audit, data),
        "confusions": _notable_confusions(audit, data.examples.class_names) if reliable else [],
        "missing_labels": audit.missing.tolist(),
        "warning": audit.warning,
        "note": audit.note,
        "known": None if truth is None else vars(truth),
        "runs": [
            {
                "method": run.spec.method,
                **run.spec.hyper,
                "seed": run.spec.seed,
                "network": run.spec.network,
                "epochs": run.metrics["last_epoch"],
                "validation_accuracy": run.metrics["validation_accuracy"],
                "counted": counted,
                "failure": run.metrics["failure"],
            }
            for run, counted in zip(fit.runs, fit.counted, strict=True)
        ],
    }


def summary_sentences(audit: Audit, data: DataSet, rule: str) -> list[str]:
    """The result in sentences, the most important first."""
    first = describe_noise_rate(audit.noise_rate) if audit.warning is None else NO_ESTIMATE
    sentences = [
        first,
        audit.warning,
        *describe_audit(audit, data, rule),
        f"Inputs: {describe_inputs(data)}.",
    ]
    return [sentence for sentence in sentences if sentence]


def save_audit(
    folder: Path, audit: Audit, fit: AuditFit, data: DataSet, rule: str, *, overwrite: bool
) -> dict[str, str]:
    """Write the tables, the probabilities and the HTML page into one folder; return their paths."""
    report = make_audit_report(audit, data, fit.runs, fit.counted, rule)
    with audit_folder(folder, overwrite=overwrite) as temporary:
        write_audit_files(temporary, audit, fit.pred_probs, data)
        write_report(temporary / REPORT, report)
    files = {"label_issues": PARQUET, "label_issues_csv": CSV, "pred_probs": PRED_PROBS, "report": REPORT}
    return {name: str(folder / file) for name, file in files.items()}


def training_part(data: DataSet) -> DataSet:
    """Return the data without their test and validation parts; a note says so if there are any."""
    others = {"test": data.test, "validation": data.validation}
    there = [f"{name} part ({len(part):,})" for name, part in others.items() if part is not None]
    if not there:
        return data
    note = (
        f"{data.name}: the audit covers the training part ({len(data.examples):,} examples), "
        f"not the {' or the '.join(there)}."
    )
    # Notes about --validation-labels concern training only.
    kept = (note for note in data.notes if "--validation-labels" not in note)
    return replace(data, test=None, validation=None, notes=(*kept, note))


def _worst(audit: Audit, data: DataSet) -> list[dict[str, Any]]:
    """The labels of lowest quality, worst first, flagged or not."""
    rows = audit.table.nsmallest(WORST, "label_quality")
    names, classes = data.examples.names, data.examples.class_names
    columns = {"row": rows["row"].tolist()}
    if names is not None:
        columns["path"] = [names[row] for row in columns["row"]]
    columns["given_label"] = to_class_names(rows["given_label"], classes).tolist()
    columns["suggested_label"] = to_class_names(rows["predicted_label"], classes).tolist()
    for name in ("label_quality", "suggested_probability", "is_label_issue"):
        columns[name] = rows[name].tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _notable_confusions(audit: Audit, class_names: Sequence[str]) -> list[dict[str, Any]]:
    """Confusions more frequent than chance would make them under uniform noise."""
    classes = len(class_names)
    usual = audit.noise_rate.wrong / (classes * (classes - 1))
    least = usual + 3 * usual**0.5 if classes > 2 else 0.0
    return [
        {"given_label": found.given, "right_label": found.right, "labels": round(found.labels, 1)}
        for found in confusions(audit, class_names, MOST_CONFUSIONS)
        if found.labels >= max(least, FEWEST_CONFUSED)
    ]
