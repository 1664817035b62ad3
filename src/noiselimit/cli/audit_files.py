"""The files of an audit, each there whole or not at all."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noiselimit.audit.issues import Audit
    from noiselimit.audit.train import Judged
    from noiselimit.data.examples import DataSet


def write_folder(
    folder: Path, audit: "Audit", judged: "Judged", data: "DataSet", asked: str, *, overwrite: bool
) -> dict[str, str]:
    """The table, the probabilities and the page in one folder; returns where they are."""
    from noiselimit.audit.report import make_audit_report
    from noiselimit.audit.write import CSV, PARQUET, PRED_PROBS, REPORT, audit_folder, write_audit_files
    from noiselimit.report import write_report

    report = make_audit_report(audit, data, data.examples.class_names, judged.runs, judged.counted, asked)
    with audit_folder(folder, overwrite=overwrite) as temporary:
        write_audit_files(temporary, audit, judged.pred_probs, data)
        write_report(temporary / REPORT, report)
    files = {"label_issues": PARQUET, "label_issues_csv": CSV, "pred_probs": PRED_PROBS, "report": REPORT}
    return {name: str(folder / file) for name, file in files.items()}


def write_copy(
    source: Path,
    target: Path,
    fix: str | None,
    audit: "Audit",
    data: "DataSet",
    label: str | None,
    *,
    overwrite: bool,
) -> dict[str, Any]:
    """The cleaned copy; returns where it is and what became of the rows."""
    from noiselimit.audit.cleaned import Fix, write_cleaned

    how: Fix = "relabel" if fix == "relabel" else "drop"
    done = write_cleaned(source, target, audit, how, data=data, label=label, overwrite=overwrite)
    return {"file": str(target), "fix": how, **vars(done)}
