"""What an audit found, as plain values: `--json` prints them, and the text is made of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noiselimit.audit.issues import Audit
    from noiselimit.audit.train import Judged
    from noiselimit.data.examples import DataSet

WORST = 12
MOST_CONFUSIONS, FEWEST_CONFUSED = 6, 2.5


def make_answer(audit: "Audit", judged: "Judged", data: "DataSet") -> dict[str, Any]:
    """Everything but the places that were written to; nothing in it is NaN."""
    from noiselimit.audit.inputs_used import inputs_used
    from noiselimit.audit.known import find_known
    from noiselimit.audit.quality import FARTHEST

    known, told = find_known(audit, data), audit.warning is None
    return {
        "data": data.name,
        "audited_labels": audit.amount.examples,
        "classes": data.examples.classes,
        "inputs": inputs_used(data),
        "columns": None if data.table is None else [column.name for column in data.table.columns],
        "remarks": list(data.notes),
        "wrong_labels": audit.amount.wrong if told else None,
        "wrong_share": audit.amount.rate if told else None,
        "interval": list(audit.amount.interval) if told else None,
        "known_from": audit.amount.known_from if told else None,
        "flagged": int(audit.table["is_label_issue"].sum()),
        "gap_threshold": audit.threshold if audit.threshold <= FARTHEST else None,
        "worst": _worst(audit, data),
        "confusions": _confusions(audit, data.examples.class_names) if told else [],
        "missing_labels": audit.missing.tolist(),
        "warning": audit.warning,
        "note": audit.note,
        "known": None if known is None else vars(known),
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
            for run, counted in zip(judged.runs, judged.counted, strict=True)
        ],
    }


def words(audit: "Audit", data: "DataSet", asked: str) -> list[str]:
    """How many labels are wrong, how many are flagged, and what else there is to say, a sentence each."""
    from noiselimit.audit.inputs_used import inputs_used
    from noiselimit.audit.known import find_known
    from noiselimit.audit.words import (
        UNTOLD,
        amount_sentence,
        flagged_sentence,
        known_sentence,
        missing_sentence,
    )

    known = find_known(audit, data)
    said = [
        amount_sentence(audit.amount) if audit.warning is None else UNTOLD,
        audit.warning,
        flagged_sentence(audit, asked),
        audit.note,
        missing_sentence(audit.missing.tolist()),
        None if known is None else known_sentence(known, int(audit.table["is_label_issue"].sum())),
        f"Inputs: {inputs_used(data)}.",
    ]
    return [sentence for sentence in said if sentence]


def _worst(audit: "Audit", data: "DataSet") -> list[dict[str, Any]]:
    """The labels of lowest quality, worst first, flagged or not."""
    from noiselimit.audit.write import called

    rows = audit.table.nsmallest(WORST, "label_quality")
    names, classes = data.examples.names, data.examples.class_names
    given, suggested = (called(rows[name], classes).tolist() for name in ("given_label", "predicted_label"))
    return [
        {
            "row": int(row["row"]),
            **({} if names is None else {"path": names[int(row["row"])]}),
            "given_label": given[place],
            "suggested_label": suggested[place],
            "label_quality": float(row["label_quality"]),
            "suggested_probability": float(row["suggested_probability"]),
            "is_label_issue": bool(row["is_label_issue"]),
        }
        for place, (_, row) in enumerate(rows.iterrows())
    ]


def _confusions(audit: "Audit", class_names: Sequence[str]) -> list[dict[str, Any]]:
    """Those that stand out: with noise that is alike everywhere, no single one is worth knowing."""
    from noiselimit.audit.report import confusions

    classes = len(class_names)
    usual = audit.amount.wrong / (classes * (classes - 1))
    least = usual + 3 * usual**0.5 if classes > 2 else 0.0  # more than chance would make of it
    return [
        {"given_label": found.given, "right_label": found.right, "labels": round(found.labels, 1)}
        for found in confusions(audit, class_names, MOST_CONFUSIONS)
        if found.labels >= max(least, FEWEST_CONFUSED)
    ]
