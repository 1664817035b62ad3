"""The folder of an audit: how it is written, and how it is opened again together with its data.

Nothing in the folder is executed, so you may open folders from people you do not know.
"""

import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from noiselimit.audit.decisions import DECISION_FILES
from noiselimit.audit.quality import Probabilities, chunks
from noiselimit.audit.saved import Origin, SavedAudit
from noiselimit.data.examples import DataSet, Examples
from noiselimit.data.reading import readable
from noiselimit.data.table_file import read_parquet
from noiselimit.errors import InputError
from noiselimit.features.cache import Embedding
from noiselimit.files import (
    atomic_folder,
    finite_json,
    json_text,
    make_folder,
    read_small_text,
    restore_folder,
    sync,
)
from noiselimit.tasks import CLASSIFICATION, Task, task_from_json

if TYPE_CHECKING:  # opening a folder needs no torch
    from noiselimit.audit.fit import AuditFit
    from noiselimit.audit.issues import Audit
    from noiselimit.audit.regression import ValueFit

PARQUET, CSV, PRED_PROBS, REPORT = "label_issues.parquet", "label_issues.csv", "pred_probs.npy", "report.html"
AUDIT = "audit.json"
FORMAT = 1
LABELS = ("given_label", "predicted_label")
DAMAGED = "run the audit again"


def open_audit(folder: str | Path, data: str | Path | None = None) -> SavedAudit:
    """Open the folder of an audit.

    Parameters
    ----------
    folder
        What `noiselimit audit` wrote.
    data
        Where the audited data are now, if they moved.

    Returns
    -------
    SavedAudit
        The table, the probabilities and the summary; its `load()` reads the data again.

    Raises
    ------
    InputError
        If it is not the folder of an audit, is damaged, or was written by another version.
    """
    folder = Path(folder)
    if not (folder / AUDIT).is_file():
        if (folder / PARQUET).is_file():
            raise InputError(f"{folder}: an older version wrote this audit; {DAMAGED} with --overwrite.")
        raise InputError(f"{folder}: this is not the folder of an audit; make one with `noiselimit audit`.")
    with readable(folder / AUDIT, DAMAGED):
        content = finite_json(read_small_text(folder / AUDIT))
        if content["format"] != FORMAT:
            version = content["noiselimit"]
            raise InputError(f"{folder}: noiselimit {version} wrote this audit; install that or {DAMAGED}.")
        origin = Origin.from_json(content["data"])
        names = tuple(map(str, content["class_names"]))
        embedding = None if content["embedding"] is None else Embedding(**content["embedding"])
        if embedding is not None and not re.fullmatch("[0-9a-f]+", embedding.digest):  # part of a path
            raise ValueError("the digest of the features is not hexadecimal")
        summary = dict(content["summary"])
        shards = tuple((str(name), int(rows)) for name, rows in content.get("shards", ()))
        task = task_from_json(content.get("task", CLASSIFICATION.to_json()))
    table, probabilities = _read_tables(folder, names, task)
    moved = None if data is None else Path(data)
    place = folder.resolve()
    return SavedAudit(place, table, probabilities, names, summary, origin, embedding, moved, shards, task)


def _read_tables(folder: Path, names: Sequence[str], task: Task) -> tuple[pd.DataFrame, Probabilities | None]:
    """The table of issues and the probabilities [n, C], which must belong together; None for regression."""
    with readable(folder / PARQUET, DAMAGED):
        table = _read_parts(folder / PARQUET)
        for column in LABELS:
            if tuple(table[column].cat.categories) != tuple(names):
                raise ValueError(f"{column} has other classes")
        columns = ("is_label_issue", "error_probability", "models_against")
        kinds = "".join(table[name].dtype.kind for name in columns)
        if not np.array_equal(table["row"], np.arange(len(table))) or kinds not in ("bfi", "bff"):
            raise ValueError("its rows are not those of an audit")
    if not task.has_classes:
        with readable(folder / PARQUET, DAMAGED):
            [float(name) for name in names]
        return table, None
    with readable(folder / PRED_PROBS, DAMAGED):
        probabilities = np.load(folder / PRED_PROBS, mmap_mode="r", allow_pickle=False)
        if probabilities.shape != (len(table), len(names)):
            raise ValueError(f"its shape is {list(probabilities.shape)}")
    return table, probabilities


def _read_parts(path: Path) -> pd.DataFrame:
    """The table of issues, from a file or a folder of parts, of which columns of the data are not needed."""
    if not path.is_dir():
        return pd.DataFrame(read_parquet(path).to_pandas())
    parts = [read_parquet(part) for part in sorted(path.glob("part-*.parquet"))]
    kept = [name for name in parts[0].column_names if not name.startswith(("id_", "text"))]
    content = pyarrow.concat_tables([part.select(kept) for part in parts])
    del parts
    return pd.DataFrame(content.unify_dictionaries().to_pandas(split_blocks=True, self_destruct=True))


def save_audit(
    folder: Path,
    audit: "Audit",
    fit: "AuditFit | ValueFit",
    data: DataSet,
    origin: Origin,
    *,
    overwrite: bool,
) -> dict[str, Any]:
    """Write tables, probabilities, the runs that count and the HTML page into one folder.

    The folder appears once it is complete, and replaces an older audit. Returns the summary, and the paths of
    the files.
    """
    from noiselimit.audit.regression import name_values
    from noiselimit.audit.report import make_audit_report, make_summary
    from noiselimit.report.html import write_report
    from noiselimit.runs.folder import AVERAGED, RUNS

    probabilities = fit.pred_probs
    if probabilities is None:
        audit, data = name_values(audit, data)
    report, summary = make_audit_report(audit, data, fit.runs, fit.counted), make_summary(audit, fit, data)
    check_audit_folder(folder, overwrite=overwrite)
    with atomic_folder(folder.resolve(), replace=overwrite) as temporary:
        write_audit_files(temporary, audit, probabilities, data)
        (temporary / AUDIT).write_text(json_text(_describe(data, origin, summary)), "utf-8")
        for run, counts in zip(fit.runs, fit.counted, strict=True):
            if counts and run.path is not None:  # without the probabilities that the audit has averaged
                shutil.copytree(run.path, temporary / RUNS / run.path.name, ignore=lambda *_: [AVERAGED])
        write_report(temporary / REPORT, report)
    files = {"label_issues": PARQUET, "label_issues_csv": CSV, "pred_probs": PRED_PROBS, "report": REPORT}
    paths = {name: folder / file for name, file in files.items()}
    return {**summary, **{name: str(path) if path.exists() else None for name, path in paths.items()}}


def _describe(data: DataSet, origin: Origin, summary: dict[str, Any]) -> dict[str, Any]:
    from noiselimit import __version__

    return {
        "format": FORMAT,
        "noiselimit": __version__,
        "data": origin.to_json(),
        "embedding": None if data.pictures is None or data.embedding is None else asdict(data.embedding),
        "class_names": list(data.examples.class_names),
        **({} if data.examples.task.has_classes else {"task": data.examples.task.to_json()}),
        "summary": summary,
        **({"shards": data.shards} if data.shards else {}),
    }


def write_audit_files(folder: Path, audit: "Audit", pred_probs: Probabilities | None, data: DataSet) -> None:
    """Write label_issues.parquet, label_issues.csv and pred_probs.npy [n, C] into an existing folder.

    For data of many files, label_issues.parquet is a folder with a part for each, and there is no CSV file.
    """
    examples, start = data.examples, 0
    if not data.shards:
        frame = _as_written(audit.table, examples)
        if examples.names is not None:
            frame["path"] = list(examples.names)
        table = pyarrow.Table.from_pandas(frame.assign(**examples.kept), preserve_index=False)
        pyarrow.parquet.write_table(table, folder / PARQUET)
        pyarrow.csv.write_csv(table, folder / CSV)
    for number, (name, rows) in enumerate(data.shards):
        part = slice(start, start + rows)
        frame = _as_written(audit.table.iloc[part], examples)
        frame["file"] = pd.Categorical([name] * rows, [name])
        frame["position"] = np.arange(rows)
        frame = frame.assign(**{column: values[part] for column, values in examples.kept.items() if rows})
        path = make_folder(folder / PARQUET) / f"part-{number:05d}.parquet"
        frame.to_parquet(path, index=False)
        sync(path)
        start += rows
    if pred_probs is not None:
        _write_probabilities(folder / PRED_PROBS, pred_probs)


def _as_written(table: pd.DataFrame, examples: Examples) -> pd.DataFrame:
    """A copy with categories as labels, whose numbers are columns of pred_probs."""
    names = pd.Index(examples.class_names)
    codes = {column: table[column].fillna(-1).to_numpy(np.int64) for column in LABELS}
    return table.assign(**{name: pd.Categorical.from_codes(own, names) for name, own in codes.items()})


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
    from noiselimit.runs.folder import RUNS

    restore_folder(folder.resolve())
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: this is a file; name a folder for the audit.")
    ours = {AUDIT, PARQUET, CSV, PRED_PROBS, REPORT, RUNS, *DECISION_FILES}
    entries = sorted(folder.iterdir())
    folders = {RUNS: (True,), PARQUET: (True, False)}
    others = [
        each.name
        for each in entries
        if each.name not in ours or each.is_dir() not in folders.get(each.name, (False,))
    ]
    if others:  # --out . must not delete the user's files
        raise InputError(f"{folder} is not an audit's folder, because it holds {others[0]}: name another.")
    if not overwrite:
        raise InputError(f"{folder}: this folder exists; name another one or use --overwrite.")
    if any(each.name in DECISION_FILES for each in entries):
        raise InputError(
            f"{folder}: this audit has been reviewed, and a new one would lose the decisions; name another "
            "folder with --out, or delete the file of decisions first."
        )
