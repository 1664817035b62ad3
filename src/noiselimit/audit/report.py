"""The output of an audit: summary for the terminal and JSON, files, and the contents of the HTML page."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from noiselimit.audit.fit import AuditFit
from noiselimit.audit.issues import (
    EXPLANATION,
    NO_ESTIMATE,
    Audit,
    compare_with_clean_labels,
    describe_audit,
    describe_noise_rate,
)
from noiselimit.audit.quality import MAX_GAP, Probabilities, chunks
from noiselimit.data.columns import Categorical, Date, Numeric, Text
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.files import atomic_folder, restore_folder
from noiselimit.report.charts import MAX_CLASSES
from noiselimit.report.content import AuditReport, Confusion, Gallery, RunLine, run_name
from noiselimit.report.html import write_report
from noiselimit.report.runs import make_suspects, run_facts, run_lines
from noiselimit.runs.folder import AVERAGED, RUNS
from noiselimit.runs.run import Run

PARQUET, CSV, PRED_PROBS, REPORT = "label_issues.parquet", "label_issues.csv", "pred_probs.npy", "report.html"
GALLERIES = 12
PICTURES_PER_GALLERY, ROWS_PER_GALLERY = 8, 5  # one line of a wide page
LINES_OF_WORST = 2
CONFUSIONS_LISTED, CONFUSIONS_BESIDE_MATRIX = 20, 8
WORST = 12
NOTABLE_CONFUSIONS, MIN_CONFUSED = 6, 2.5
FACTS_LEFT_OUT = frozenset({"Data set", "Noise", "Choice", "Entropy of the noise"})
"""Facts about runs that compete; the runs of an audit are averaged."""


def make_summary(audit: Audit, fit: AuditFit, data: DataSet) -> dict[str, Any]:
    """What `noiselimit audit --json` prints, except the paths: JSON values without NaN."""
    truth, estimate = compare_with_clean_labels(audit, data), audit.table.attrs
    return {
        "data": data.name,
        "audited_labels": audit.noise_rate.examples,
        "classes": data.examples.classes,
        "inputs": describe_inputs(data),
        "columns": None
        if data.table is None
        else [column.name for column in data.table.columns if column.width],
        "remarks": list(data.notes),
        "wrong_labels": estimate["wrong_labels"],
        "wrong_share": estimate["wrong_share"],
        "interval": estimate["interval"],
        "known_from": estimate["known_from"],
        "flagged": audit.flagged,
        "gap_threshold": audit.threshold if audit.threshold <= MAX_GAP else None,
        "worst": _worst(audit, data),
        "confusions": _notable_confusions(audit, data.examples.class_names),
        "missing_labels": audit.missing.tolist(),
        "warning": audit.warning,
        "note": audit.note,
        "known": truth,
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


def summary_sentences(audit: Audit, data: DataSet) -> list[str]:
    """The result in sentences, the most important first."""
    first = describe_noise_rate(audit.noise_rate) if audit.warning is None else NO_ESTIMATE
    sentences = [
        first,
        audit.warning,
        *describe_audit(audit, data),
        f"Inputs: {describe_inputs(data)}.",
    ]
    return [sentence for sentence in sentences if sentence]


def save_audit(
    folder: Path, audit: Audit, fit: AuditFit, data: DataSet, *, overwrite: bool
) -> dict[str, str]:
    """Write tables, probabilities, the runs that count and the HTML page into one folder; return paths.

    The folder appears once it is complete, and replaces an older audit.
    """
    report = make_audit_report(audit, data, fit.runs, fit.counted)
    check_audit_folder(folder, overwrite=overwrite)
    with atomic_folder(folder.resolve(), replace=overwrite) as temporary:
        write_audit_files(temporary, audit, fit.pred_probs, data)
        for run, counts in zip(fit.runs, fit.counted, strict=True):
            if counts and run.path is not None:  # without the probabilities that the audit has averaged
                shutil.copytree(run.path, temporary / RUNS / run.path.name, ignore=lambda *_: [AVERAGED])
        write_report(temporary / REPORT, report)
    files = {"label_issues": PARQUET, "label_issues_csv": CSV, "pred_probs": PRED_PROBS, "report": REPORT}
    return {name: str(folder / file) for name, file in files.items()}


def write_audit_files(folder: Path, audit: Audit, pred_probs: Probabilities, data: DataSet) -> None:
    """Write label_issues.parquet, label_issues.csv and pred_probs.npy [n, C] into an existing folder."""
    frame, examples = audit.table.copy(), data.examples
    for column in ("given_label", "predicted_label"):  # categories, whose numbers are columns of pred_probs
        codes = frame[column].fillna(-1).to_numpy(np.int64)
        frame[column] = pd.Categorical.from_codes(codes, pd.Index(examples.class_names))
    if examples.names is not None:
        frame["path"] = list(examples.names)
    frame = frame.assign(**examples.kept)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    pyarrow.parquet.write_table(table, folder / PARQUET)
    pyarrow.csv.write_csv(table, folder / CSV)
    _write_probabilities(folder / PRED_PROBS, pred_probs)


def _write_probabilities(path: Path, probabilities: Probabilities) -> None:
    """Write float32 rows that sum to 1, chunk by chunk."""
    header = {"descr": "<f4", "fortran_order": False, "shape": probabilities.shape}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in chunks(*probabilities.shape):
            values = np.clip(np.asarray(probabilities[part], np.float64), 0.0, 1.0)
            file.write((values / values.sum(1, keepdims=True)).astype("<f4").tobytes())


def check_audit_folder(folder: Path, *, overwrite: bool) -> None:
    """Reject a folder that an audit may not write; call it before training."""
    restore_folder(folder.resolve())
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: this is a file; name a folder for the audit.")
    ours = {PARQUET, CSV, PRED_PROBS, REPORT, RUNS}
    others = sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.name not in ours or entry.is_dir() != (entry.name == RUNS)
    )
    if others:  # --out . must not delete the user's files
        raise InputError(f"{folder} is not an audit's folder, because it holds {others[0]}: name another.")
    if not overwrite:
        raise InputError(f"{folder}: this folder exists; name another one or use --overwrite.")


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


def to_class_names(labels: "pd.Series[Any]", class_names: Sequence[str]) -> npt.NDArray[Any]:
    """Names [n] of class numbers; None if missing."""
    names = np.array([*class_names, None], object)
    return np.asarray(names[labels.fillna(-1).to_numpy(np.int64)])


def _worst(audit: Audit, data: DataSet) -> list[dict[str, Any]]:
    """The labels of lowest quality, worst first, flagged or not."""
    rows = audit.table.nsmallest(WORST, "label_quality")
    names, classes = data.examples.names, data.examples.class_names
    worst = rows[["row"]].copy()
    if names is not None:
        worst["path"] = [names[row] for row in rows["row"]]
    worst["given_label"] = to_class_names(rows["given_label"], classes)
    worst["suggested_label"] = to_class_names(rows["predicted_label"], classes)
    worst = worst.join(rows[["label_quality", "suggested_probability", "is_label_issue"]])
    return [{str(name): value for name, value in row.items()} for row in worst.to_dict("records")]


def _notable_confusions(audit: Audit, class_names: Sequence[str]) -> list[dict[str, Any]]:
    """Confusions more frequent than chance would make them under uniform noise."""
    if audit.warning is not None:
        return []
    classes = len(class_names)
    usual = audit.noise_rate.wrong / (classes * (classes - 1))
    least = usual + 3 * usual**0.5 if classes > 2 else 0.0
    return [
        {"given_label": found.given, "right_label": found.right, "labels": round(found.labels, 1)}
        for found in confusions(audit, class_names, NOTABLE_CONFUSIONS)
        if found.labels >= max(least, MIN_CONFUSED)
    ]


def make_audit_report(
    audit: Audit, data: DataSet, runs: Sequence[Run] = (), counted: Sequence[bool] = ()
) -> AuditReport:
    """Collect the contents of the page."""
    class_names = data.examples.class_names
    flagged = audit.table["is_label_issue"].to_numpy(dtype=bool)
    gaps = audit.table["gap"].to_numpy(dtype=np.float64)
    reliable, drawable = audit.warning is None, len(class_names) <= MAX_CLASSES
    listed = CONFUSIONS_BESIDE_MATRIX if drawable else CONFUSIONS_LISTED
    lines = run_lines(runs, counted)
    return AuditReport(
        title=f"Label audit of {data.name}",
        sentence=describe_noise_rate(audit.noise_rate) if reliable else NO_ESTIMATE,
        warning=audit.warning or "",
        flagged=" ".join(describe_audit(audit, data)),
        explanation=EXPLANATION if reliable else "",
        class_names=class_names,
        transition=audit.noise_rate.transition if drawable and reliable else None,
        confusions=confusions(audit, class_names, listed) if reliable else [],
        gaps={"not flagged": gaps[~flagged & ~np.isnan(gaps)], "flagged": gaps[flagged]},
        threshold=audit.threshold,
        runs=lines,
        clean_test=bool(runs) and all(run.metrics["wrong_labels"] is not None for run in runs),
        wrong_share=(audit.noise_rate.rate or None) if reliable else None,
        facts=_facts(audit, data, runs, lines),
        **_galleries(audit, data),
    )


def confusions(audit: Audit, class_names: Sequence[str], most: int) -> list[Confusion]:
    """The most frequent pairs of given and true class."""
    labels = audit.noise_rate.joint * audit.noise_rate.examples
    np.fill_diagonal(labels, 0.0)
    flat = labels.ravel()
    largest = np.argsort(-flat, kind="stable")[:most]
    return [
        Confusion(class_names[cell // len(class_names)], class_names[cell % len(class_names)], flat[cell])
        for cell in largest
        if flat[cell] > 0
    ]


def _galleries(audit: Audit, data: DataSet) -> dict[str, Any]:
    """Galleries by given class, most flagged labels first; if nothing is flagged, one of the largest gaps.

    Classes without a gallery are listed by name.
    """
    names = data.examples.class_names
    given = audit.table["given_label"].fillna(-1).to_numpy(np.int64)
    gaps = audit.table["gap"].fillna(-1.0).to_numpy(np.float64)
    flagged = np.flatnonzero(audit.table["is_label_issue"].to_numpy(dtype=bool))
    flagged = flagged[np.argsort(-gaps[flagged], kind="stable")]
    most = ROWS_PER_GALLERY if data.shown.ndim == 2 else PICTURES_PER_GALLERY
    counts = np.bincount(given[flagged], minlength=len(names))
    sizes = np.bincount(given[given >= 0], minlength=len(names))
    order = [int(label) for label in np.argsort(-counts, kind="stable") if counts[label]]
    parts = [
        (names[label], int(counts[label]), int(sizes[label]), flagged[given[flagged] == label][:most])
        for label in order[:GALLERIES]
    ]
    if not parts:
        total = int(sizes.sum())
        parts = [("The largest gaps", 0, total, np.argsort(-gaps, kind="stable")[: min(most, total)])]
    worst = flagged[: LINES_OF_WORST * most if len(parts) > 1 else 0]
    rows = np.unique(np.concatenate([worst, *(part[-1] for part in parts)]))
    clean = data.examples.clean_labels
    shown = audit.table.iloc[rows].rename(columns={"row": "index", "predicted_label": "suggested_label"})
    shown["clean_label"] = None if clean is None else clean[rows]
    suspects = {suspect.index: suspect for suspect in make_suspects(shown, data)}
    return {
        "galleries": [
            Gallery(name, count, size, [suspects[int(row)] for row in own])
            for name, count, size, own in parts
        ],
        "suspects": [suspects[int(row)] for row in worst],
        "other_classes": [(names[label], int(counts[label])) for label in order[GALLERIES:]],
        "unflagged_classes": [name for name, count in zip(names, counts, strict=True) if not count],
    }


def describe_inputs(data: DataSet) -> str:
    """`12 columns (9 of numbers, 3 of categories as 17 features)`, `pictures 3×48×40` or `64 numbers`."""
    shape = data.examples.input_shape
    if data.shown.ndim > 2:
        pictures = f"images {'×'.join(map(str, data.shown.shape[1:]))}"
        if data.pictures is None:
            return pictures
        return f"{pictures} as {_count(shape[0], 'feature')} of {data.embedding}"
    if data.table is None:
        return _count(shape[0], "number")
    names = {Numeric: "numbers", Categorical: "categories", Date: "dates", Text: "text"}
    found = []
    for kind, name in names.items():
        if columns := [column for column in data.table.columns if isinstance(column, kind)]:
            features = _count(sum(column.width for column in columns), "feature")
            as_features = f" as {features}" if kind in (Categorical, Text) else ""
            by = f" of {columns[0].embedding}" if isinstance(columns[0], Text) else ""
            found.append((len(columns), f"of {name}{as_features}{by}"))
    total = _count(sum(count for count, _ in found), "column")
    if len(found) == 1:
        return f"{total} {found[0][1]}"
    return f"{total} ({', '.join(f'{count:,} {what}' for count, what in found)})"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _facts(audit: Audit, data: DataSet, runs: Sequence[Run], lines: Sequence[RunLine]) -> dict[str, str]:
    missing = f", {len(audit.missing):,} more without a label" if len(audit.missing) else ""
    threshold = f", gap {audit.threshold:.3f} or more" if audit.threshold <= MAX_GAP else ""
    training = run_facts(runs) if runs else {}
    facts = {
        "Data set": data.name,
        "Labels audited": f"{audit.noise_rate.examples:,}{missing}",
        "Classes": f"{data.examples.classes:,}",
        "Inputs": describe_inputs(data),
        "Labels flagged": f"{audit.flagged:,}{threshold}",
        "Remarks": " ".join(data.notes),
        **{name: fact for name, fact in training.items() if name not in FACTS_LEFT_OUT},
        "Probabilities": _describe_probabilities(audit, lines) if lines else "",
    }
    return {name: fact for name, fact in facts.items() if fact}


def _describe_probabilities(audit: Audit, lines: Sequence[RunLine]) -> str:
    """Which runs the probabilities are the mean of."""
    several = len({line.run.spec.seed for line in lines}) > 1
    counted, others = (
        "; ".join(run_name(line, seed=several) for line in lines if line.chosen == counts)
        for counts in (True, False)
    )
    text = f"mean of classifier and predictor over the second half of the epochs, of {counted}"
    if audit.noise_rate.known_from < audit.noise_rate.examples:
        text += "; training examples were calibrated to held-out examples"
    return f"{text}; left out for lower validation accuracy: {others}" if others else text
