"""Collect what the HTML page of an audit shows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from noiselimit.audit.issues import EXPLANATION, NO_ESTIMATE, Audit, describe_audit, describe_noise_rate
from noiselimit.audit.quality import MAX_GAP, Labels
from noiselimit.data.examples import DataSet
from noiselimit.data.tables import MISSING, Categorical, Numeric
from noiselimit.report.charts import MAX_CLASSES
from noiselimit.report.content import AuditReport, Confusion, Gallery, RunLine, Suspect, run_name, shorten
from noiselimit.report.runs import differing_settings, run_facts, run_lines, show_inputs
from noiselimit.runs.run import Run

COLUMNS_SHOWN = 8
LONGEST_TEXT = 60
GALLERIES = 12
PICTURES_PER_GALLERY, ROWS_PER_GALLERY = 8, 5  # one line of a wide page
LINES_OF_WORST = 2
CONFUSIONS_LISTED, CONFUSIONS_BESIDE_MATRIX = 20, 8
FACTS_LEFT_OUT = frozenset({"Data set", "Noise", "Choice", "Entropy of the noise"})
"""Facts about runs that compete; the runs of an audit are averaged."""


def make_audit_report(
    audit: Audit, data: DataSet, runs: Sequence[Run] = (), counted: Sequence[bool] = (), rule: str = ""
) -> AuditReport:
    """Collect the contents of the page. `rule` is the user's option that set how many labels to flag."""
    class_names = data.examples.class_names
    flagged = audit.table["is_label_issue"].to_numpy(dtype=bool)
    gaps = audit.table["gap"].to_numpy(dtype=np.float64)
    reliable, drawable = audit.warning is None, len(class_names) <= MAX_CLASSES
    listed = CONFUSIONS_BESIDE_MATRIX if drawable else CONFUSIONS_LISTED
    lines = _run_lines(runs, counted)
    return AuditReport(
        title=f"Label audit of {data.name}",
        sentence=describe_noise_rate(audit.noise_rate) if reliable else NO_ESTIMATE,
        warning=audit.warning or "",
        flagged=" ".join(describe_audit(audit, data, rule)),
        explanation=EXPLANATION if reliable else "",
        class_names=class_names,
        transition=audit.noise_rate.transition if drawable and reliable else None,
        confusions=confusions(audit, class_names, listed) if reliable else [],
        gaps_kept=gaps[~flagged & ~np.isnan(gaps)],
        gaps_flagged=gaps[flagged],
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
    most = ROWS_PER_GALLERY if data.examples.inputs.ndim == 2 else PICTURES_PER_GALLERY
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
    suspects = dict(zip(rows.tolist(), _suspects(audit, data, rows), strict=True))
    return {
        "galleries": [
            Gallery(name, count, size, [suspects[int(row)] for row in shown])
            for name, count, size, shown in parts
        ],
        "worst": [suspects[int(row)] for row in worst],
        "other_classes": [(names[label], int(counts[label])) for label in order[GALLERIES:]],
        "unflagged_classes": [name for name, count in zip(names, counts, strict=True) if not count],
    }


def _suspects(audit: Audit, data: DataSet, rows: Labels) -> list[Suspect]:
    table, examples = audit.table.iloc[rows], data.examples
    names, clean = examples.class_names, examples.clean_labels
    if examples.inputs.ndim == 2:
        looks: list[dict[str, Any]] = [{"columns": row_columns(data, row)} for row in rows.tolist()]
    else:
        looks = show_inputs(data, rows)
    columns = (table[name].tolist() for name in ("given_label", "predicted_label", "gap"))
    return [
        Suspect(
            row,
            names[given],
            names[suggested],
            gap,
            clean=None if clean is None else names[clean[row]],
            name=None if examples.names is None else examples.names[row],
            **look,
        )
        for row, given, suggested, gap, look in zip(rows.tolist(), *columns, looks, strict=True)
    ]


def row_columns(data: DataSet, row: int) -> list[tuple[str, str]]:
    """Name and value of the first columns of a row, then the number of further columns."""
    shown = [
        (shorten(name, LONGEST_TEXT), shorten(value, LONGEST_TEXT))
        for name, value in islice(_cells(data, row), COLUMNS_SHOWN)
    ]
    columns = data.examples.inputs.shape[1] if data.table is None else len(data.table.columns)
    more = columns - len(shown)
    return [*shown, ("…", f"{more} more")] if more > 0 else shown


def _cells(data: DataSet, row: int) -> Iterator[tuple[str, str]]:
    """A categorical column is several features; the one that is 1 names the value."""
    values = data.examples.inputs[row]
    if data.table is None:
        yield from ((f"value {place}", f"{value:.5g}") for place, value in enumerate(values))
        return
    start = 0
    for column in data.table.columns:
        if isinstance(column, Numeric):
            yield column.name, f"{values[start]:.5g}"
            start += 1
        else:
            end = start + len(column.categories)
            held = [name for name, there in zip(column.categories, values[start:end], strict=True) if there]
            yield column.name, "missing" if held == [MISSING] else ", ".join(held) or "–"
            start = end


def describe_inputs(data: DataSet) -> str:
    """`12 columns (9 of numbers, 3 of categories as 17 features)`, `pictures 3×48×40` or `64 numbers`."""
    shape = data.examples.input_shape
    if len(shape) > 1:
        return f"pictures {'×'.join(map(str, shape))}"
    if data.table is None:
        return _count(shape[0], "number")
    columns = data.table.columns
    categories = [len(column.categories) for column in columns if isinstance(column, Categorical)]
    total, features = _count(len(columns), "column"), _count(sum(categories), "feature")
    if not categories:
        return f"{total} of numbers"
    numbers = len(columns) - len(categories)
    if not numbers:
        return f"{total} of categories as {features}"
    return f"{total} ({numbers:,} of numbers, {len(categories):,} of categories as {features})"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _run_lines(runs: Sequence[Run], counted: Sequence[bool]) -> list[RunLine]:
    # Probabilities are means over epochs, so no single epoch is marked as the chosen one.
    lines = run_lines(runs, counted, differing_settings(runs)) if runs else []
    return [replace(line, best_epoch=None) for line in lines]


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
    several = len({line.seed for line in lines}) > 1
    counted, others = (
        "; ".join(run_name(line, seed=several) for line in lines if line.chosen == counts)
        for counts in (True, False)
    )
    text = f"mean of classifier and predictor over the second half of the epochs, of {counted}"
    if audit.noise_rate.known_from < audit.noise_rate.examples:
        text += "; training examples were calibrated to held-out examples"
    return f"{text}; left out for lower validation accuracy: {others}" if others else text
