"""Which examples a report shows: the worst of the classes with most flagged labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noiselimit.audit.issues import Audit
from noiselimit.audit.quality import Labels
from noiselimit.audit.shown_rows import row_columns
from noiselimit.data.examples import DataSet
from noiselimit.report import Gallery, Suspect
from noiselimit.run_report import shown

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
