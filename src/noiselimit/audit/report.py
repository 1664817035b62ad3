"""From an audit to the page a person looks at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pandas as pd

from noiselimit.audit.issues import (
    EXPLANATION,
    NO_ESTIMATE,
    Audit,
    compare_with_clean_labels,
    describe_flags,
    describe_ground_truth,
    describe_missing,
    describe_noise_rate,
)
from noiselimit.audit.quality import MAX_GAP, Labels
from noiselimit.data.examples import DataSet
from noiselimit.data.tables import MISSING, Categorical, Numeric, Table
from noiselimit.errors import InputError
from noiselimit.report import AuditReport, Confusion, Gallery, RunLine, Suspect
from noiselimit.report.charts import MOST_CLASSES
from noiselimit.report.content import run_name, shorten
from noiselimit.report.runs import describe as describe_run
from noiselimit.report.runs import differing_settings, readable, run_facts, run_line, shown
from noiselimit.runs.run import Run
from noiselimit.runs.selection import choose

MOST_COLUMNS = 8
LONGEST_TEXT = 60


def row_columns(data: DataSet, row: int) -> list[tuple[str, str]]:
    """(name, value) of the first MOST_COLUMNS columns of one row, then how many more there are."""
    cells = _table_cells(data, row) if data.table is not None else _plain_cells(data, row)
    columns = data.examples.inputs.shape[1] if data.table is None else len(data.table.columns)
    shown = [
        (shorten(name, LONGEST_TEXT), shorten(value, LONGEST_TEXT))
        for name, value in islice(cells, MOST_COLUMNS)
    ]
    more = columns - len(shown)
    return [*shown, ("…", f"{more} more")] if more > 0 else shown


def _plain_cells(data: DataSet, row: int) -> Iterator[tuple[str, str]]:
    for place, value in enumerate(data.examples.inputs[row]):
        yield f"value {place}", f"{value:.5g}"


def _table_cells(data: DataSet, row: int) -> Iterator[tuple[str, str]]:
    """A column of names is several features, of which the one that is 1 says the name."""
    assert data.table is not None
    values, start = data.examples.inputs[row], 0
    for column in data.table.columns:
        if isinstance(column, Numeric):
            yield column.name, f"{values[start]:.5g}"
            start += 1
        else:
            end = start + len(column.categories)
            held = [name for name, there in zip(column.categories, values[start:end], strict=True) if there]
            yield column.name, "missing" if held == [MISSING] else ", ".join(held) or "–"
            start = end


def inputs_used(data: DataSet) -> str:
    """`12 columns (9 of numbers, 3 of categories as 17 features)`, `pictures 3×48×40` or `64 numbers`."""
    shape = data.examples.input_shape
    if len(shape) > 1:
        return f"pictures {'×'.join(map(str, shape))}"
    return _many(shape[0], "number") if data.table is None else _columns(data.table)


def _columns(table: Table) -> str:
    categories = [len(column.categories) for column in table.columns if isinstance(column, Categorical)]
    numbers = len(table.columns) - len(categories)
    names = f"of categories as {_many(sum(categories), 'feature')}"
    all_columns = _many(len(table.columns), "column")
    if not categories:
        return f"{all_columns} of numbers"
    if not numbers:
        return f"{all_columns} {names}"
    return f"{all_columns} ({numbers:,} of numbers, {len(categories):,} {names})"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


MOST_GALLERIES = 12
PICTURES_PER_GALLERY, ROWS_PER_GALLERY = 8, 5  # a line of a wide page
LINES_OF_ALL = 2  # of the worst of all classes


@dataclass(frozen=True, eq=False)
class Found:
    """Every class has a gallery or is in one of the two lists."""

    shown: Sequence[Gallery]
    worst: Sequence[Suspect]
    """Of all classes; none where one gallery shows them."""
    others: Sequence[tuple[str, int]]
    """Flagged labels of classes that have no gallery."""
    unflagged: Sequence[str]


def galleries(audit: Audit, data: DataSet, given: Labels, class_names: Sequence[str]) -> Found:
    """Galleries by given class, most flagged first; where nothing is flagged, one of the largest gaps."""
    gaps = audit.table["gap"].fillna(-1.0).to_numpy(dtype=np.float64)
    flagged = np.flatnonzero(audit.table["is_label_issue"].to_numpy(dtype=bool))
    flagged = flagged[np.argsort(-gaps[flagged], kind="stable")]
    most = ROWS_PER_GALLERY if data.examples.inputs.ndim == 2 else PICTURES_PER_GALLERY
    counts = np.bincount(given[flagged], minlength=len(class_names))
    sizes = np.bincount(given[given >= 0], minlength=len(class_names))
    order = [int(label) for label in np.argsort(-counts, kind="stable") if counts[label]]
    parts = [
        (class_names[label], int(counts[label]), int(sizes[label]), flagged[given[flagged] == label])
        for label in order[:MOST_GALLERIES]
    ]
    if not parts:
        worst = np.argsort(-gaps, kind="stable")[: min(most, int(sizes.sum()))]
        parts = [("The largest gaps", 0, int(sizes.sum()), worst)]
    worst_of_all = flagged[: LINES_OF_ALL * most if len(parts) > 1 else 0]
    rows = np.unique(np.concatenate([worst_of_all, *(part[-1][:most] for part in parts)]))
    suspects = dict(zip(rows.tolist(), _suspects(audit, data, given, class_names, rows), strict=True))
    return Found(
        [
            Gallery(name, count, size, [suspects[int(row)] for row in worst[:most]])
            for name, count, size, worst in parts
        ],
        [suspects[int(row)] for row in worst_of_all],
        [(class_names[label], int(counts[label])) for label in order[MOST_GALLERIES:]],
        [name for name, count in zip(class_names, counts, strict=True) if not count],
    )


def _suspects(
    audit: Audit, data: DataSet, given: Labels, class_names: Sequence[str], rows: Labels
) -> list[Suspect]:
    table, examples = audit.table.iloc[rows], data.examples
    pictures = examples.inputs.ndim != 2
    looks = shown(data, rows) if pictures else [{"columns": row_columns(data, row)} for row in rows.tolist()]
    clean = examples.clean_labels
    return [
        Suspect(
            row,
            class_names[given[row]],
            suggested if isinstance(suggested, str) else class_names[int(suggested)],
            gap,
            clean=None if clean is None else class_names[clean[row]],
            name=None if examples.names is None else examples.names[row],
            **look,
        )
        for row, suggested, gap, look in zip(
            rows.tolist(), table["predicted_label"].tolist(), table["gap"].tolist(), looks, strict=True
        )
    ]


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
        sentence=describe_noise_rate(audit.noise_rate) if told else NO_ESTIMATE,
        warning=audit.warning or "",
        flagged=_flagged(audit, data, asked),
        explanation=EXPLANATION if told else "",
        class_names=class_names,
        transition=audit.noise_rate.transition if few and told else None,
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
        wrong_share=(audit.noise_rate.rate or None) if told else None,
        facts=_facts(audit, data, class_names, runs, lines),
    )


def _flagged(audit: Audit, data: DataSet, asked: str) -> str:
    known = compare_with_clean_labels(audit, data)
    parts = [describe_flags(audit, asked), audit.note or "", describe_missing(audit.missing.tolist())]
    if known is not None:
        parts.append(describe_ground_truth(known, int(audit.table["is_label_issue"].sum())))
    return " ".join(part for part in parts if part)


def _given_numbers(audit: Audit, data: DataSet, class_names: Sequence[str]) -> Labels:
    """Given labels [n] as numbers of columns, −1 where missing; the inputs of a report are checked here."""
    column = audit.table["given_label"]
    classes = len(audit.noise_rate.joint)
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
    labels = audit.noise_rate.joint * audit.noise_rate.examples
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
    scaled = audit.noise_rate.known_from < audit.noise_rate.examples
    return {
        "Data set": data.name,
        "Labels audited": f"{audit.noise_rate.examples:,}{missing}",
        "Classes": f"{len(class_names):,}",
        "Inputs": inputs_used(data),
        "Labels flagged": f"{flagged:,}"
        + (f", from a gap of {audit.threshold:.3f} on" if audit.threshold <= MAX_GAP else ""),
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
