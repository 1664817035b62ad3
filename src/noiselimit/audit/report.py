"""The output of an audit: summary for the terminal and JSON, and the contents of the HTML page."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.audit.fit import AuditFit
from noiselimit.audit.issues import (
    EXPLANATION,
    NO_ESTIMATE,
    Audit,
    compare_with_clean_labels,
    describe_audit,
    describe_noise_rate,
)
from noiselimit.audit.neighbours import (
    NEIGHBOURS,
    comparable_features,
    explain,
    explain_value,
    nearest,
    squared_norms,
)
from noiselimit.audit.quality import Labels
from noiselimit.audit.regression import ValueFit
from noiselimit.data.arrays import LazyInputs
from noiselimit.data.columns import Categorical, Date, Numeric, Text
from noiselimit.data.examples import DataSet
from noiselimit.report.charts import MAX_CLASSES
from noiselimit.report.content import AuditReport, Confusion, Pair, RunLine, Suspect, run_name
from noiselimit.report.html import thumbnail
from noiselimit.report.runs import make_suspects, run_facts, run_lines
from noiselimit.runs.run import Run

MOST_CARDS, BATCH = 2000, 64
"""Labels that the page shows at most, and cards that are made at a time."""
MULTIPLICATIONS = 10**11
"""Cost at most of comparing the labels of the page with all examples."""
MOST_PAIRS = 40
"""Class pairs that the page can be filtered by."""
WORST_SHOWN = 24
"""Labels that the page shows if none is flagged."""
CONFUSIONS_LISTED, CONFUSIONS_BESIDE_MATRIX = 20, 8
WORST = 12
WORST_COLUMNS = ("error_probability", "label_quality", "suggested_probability", "is_label_issue")
NOTABLE_CONFUSIONS, MIN_CONFUSED = 6, 2.5
FACTS_LEFT_OUT = frozenset({"Data set", "Noise", "Choice", "Entropy of the noise"})
"""Facts about runs that compete; the runs of an audit are averaged."""


def make_summary(audit: Audit, fit: AuditFit | ValueFit, data: DataSet) -> dict[str, Any]:
    """What `noiselimit audit --json` prints, except the paths: JSON values without NaN."""
    truth, estimate = compare_with_clean_labels(audit, data), audit.table.attrs
    task = data.examples.task
    return {
        **({} if task.has_classes else {"task": task.name}),
        "data": data.name,
        "audited_labels": audit.noise_rate.examples,
        "classes": data.examples.classes if task.has_classes else None,
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
        "threshold": audit.threshold,
        "judges": dict(zip(fit.judges, fit.model.weights.round(4).tolist(), strict=True)),
        "ambiguous": [
            {"classes": [data.examples.class_names[a], data.examples.class_names[b]], "share": part}
            for a, b, part in audit.ambiguous
        ],
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
    worst = rows[["row", *(name for name in ("low", "high") if name in rows)]].copy()
    if names is not None:
        worst["path"] = [names[row] for row in rows["row"]]
    worst["given_label"] = to_class_names(rows["given_label"], classes)
    worst["suggested_label"] = to_class_names(rows["predicted_label"], classes)
    worst = worst.join(rows[[name for name in WORST_COLUMNS if name in rows]])
    return [{str(name): value for name, value in row.items()} for row in worst.to_dict("records")]


def _notable_confusions(audit: Audit, class_names: Sequence[str]) -> list[dict[str, Any]]:
    """Confusions more frequent than chance would make them under uniform noise."""
    if audit.warning is not None or len(audit.noise_rate.joint) < len(class_names):
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
    errors = audit.table["error_probability"].to_numpy(dtype=np.float64)
    # The values of regression are no classes to confuse.
    drawable = len(class_names) <= MAX_CLASSES and data.examples.task.has_classes
    reliable = audit.warning is None
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
        scores={"not flagged": errors[~flagged & ~np.isnan(errors)], "flagged": errors[flagged]},
        threshold=audit.threshold,
        runs=lines,
        clean_test=bool(runs) and all(run.metrics["wrong_labels"] is not None for run in runs),
        wrong_share=(audit.noise_rate.rate or None) if reliable else None,
        facts=_facts(audit, data, runs, lines),
        **_suspects(audit, data),
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
        if flat[cell] >= 0.5
    ]


def _suspects(audit: Audit, data: DataSet) -> dict[str, Any]:
    """Flagged labels in diverse order and their class pairs; if nothing is flagged, the worst labels."""
    names, table = data.examples.class_names, audit.table
    given, suggested = (
        table[name].fillna(-1).to_numpy(np.int64) for name in ("given_label", "predicted_label")
    )
    error = table["error_probability"].to_numpy(np.float64)
    flagged = np.flatnonzero(table["is_label_issue"].to_numpy(bool))
    frame = pd.DataFrame({"row": flagged, "pair": given[flagged] * len(names) + suggested[flagged]})
    frame["error"] = error[flagged]
    counts = frame["pair"].value_counts()
    pairs = [
        Pair(names[pair // len(names)], names[pair % len(names)], int(count))
        for pair, count in zip(counts.index[:MOST_PAIRS].tolist(), counts.head(MOST_PAIRS), strict=True)
    ]
    if len(counts) > MOST_PAIRS:
        pairs.append(Pair("", "", int(counts.iloc[MOST_PAIRS:].sum())))
    numbers = {pair: min(number, MOST_PAIRS) for number, pair in enumerate(counts.index)}
    frame = diverse_order(frame)
    frame["pair"] = frame["pair"].map(numbers)
    if frame.empty:
        worst = np.argsort(-np.nan_to_num(error, nan=-1.0), kind="stable")[:WORST_SHOWN]
        frame = pd.DataFrame({"row": worst[given[worst] >= 0], "pair": None})
    if not data.examples.task.has_classes:
        cards = _make_cards(frame.assign(pair=None).head(MOST_CARDS), error, audit, data)
        ends = audit.table[["low", "high"]].to_numpy(np.float64)[[card.index for card in cards]]
        cards = [
            replace(card, suggested=f"{card.suggested} ({low:.6g} to {high:.6g})")
            for card, (low, high) in zip(cards, ends, strict=True)
        ]
        return {"flags": len(flagged), "suspects": cards}
    flags, sizes = (np.bincount(given[rows], minlength=len(names)) for rows in (flagged, given >= 0))
    order = [int(label) for label in np.argsort(-flags, kind="stable") if flags[label]]
    return {
        "flags": len(flagged),
        "suspects": _make_cards(frame.head(MOST_CARDS), error, audit, data),
        "pairs": pairs if len(pairs) > 1 else [],
        "by_class": [(names[label], int(flags[label]), int(sizes[label])) for label in order],
        "unflagged_classes": [name for name, count in zip(names, flags, strict=True) if not count],
    }


def diverse_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort rows so that class pairs take turns: first the worst label of each `pair`, by `error`."""
    worst = frame.sort_values(["error", "row"], ascending=[False, True])
    turn = worst.groupby("pair").cumcount()
    return worst.assign(turn=turn).sort_values("turn", kind="stable").drop(columns="turn")


def _make_cards(
    frame: pd.DataFrame, error: npt.NDArray[np.float64], audit: Audit, data: DataSet
) -> list[Suspect]:
    """The cards of these rows; pictures are shrunk batch by batch, to save memory."""
    rows = frame["row"].to_numpy(np.int64)
    shown = audit.table.iloc[rows].rename(columns={"row": "index", "predicted_label": "suggested_label"})
    clean = data.examples.clean_labels
    shown = shown.assign(
        clean_label=None if clean is None else clean[rows],
        error=error[rows],
        pair=frame["pair"].to_numpy(),
        why=_reasons(rows, audit, data),
    )
    found: list[Suspect] = []
    for start in range(0, len(shown), BATCH):
        batch = make_suspects(shown.iloc[start : start + BATCH], data)
        found += [
            each if each.image is None else replace(each, image=thumbnail(each.image)) for each in batch
        ]
    return found


def _reasons(rows: Labels, audit: Audit, data: DataSet) -> list[str]:
    """Why these labels are in doubt; without neighbours if it takes long to find them."""
    inputs, table = data.examples.inputs, audit.table.iloc[rows]
    near: Iterable[Labels] = [rows[:0]] * len(rows)
    if not isinstance(inputs, LazyInputs) and len(rows) * inputs.size <= MULTIPLICATIONS:
        features = comparable_features(data)
        near = nearest(features, squared_norms(features), rows, NEIGHBOURS)
    given, names = data.examples.labels, data.examples.class_names
    suggested, against = (
        table[name].to_numpy(np.float64, na_value=np.nan) for name in ("predicted_label", "models_against")
    )
    return [
        explain(int(given[row]), int(other), names, **known)
        if data.examples.task.has_classes
        else explain_value(names, **known)
        for row, other, votes, found in zip(rows, suggested, against, near, strict=True)
        for known in ({"against": votes, "models": audit.models, "neighbours": given[found].tolist()},)
    ]


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
    threshold = "" if audit.threshold is None else f", wrong with probability {audit.threshold:.3f} or more"
    training = run_facts(runs) if runs else {}
    facts = {
        "Data set": data.name,
        "Labels audited": f"{audit.noise_rate.examples:,}{missing}",
        "Classes": f"{data.examples.classes:,}" if data.examples.task.has_classes else "none (regression)",
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
