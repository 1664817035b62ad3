"""Result rows: one line of CSV for every run, read and appended as pandas frames.

A table's rows are in OUT/<data>.csv. What figures draw of a run is in OUT/figures/<kind>.csv, which has one
more column, `values`.
"""

import io
import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from noiselimit.errors import InputError
from noiselimit.files import make_folder
from noiselimit.methods import get_method
from noiselimit.randomness import Stream, uniforms
from noiselimit.runs.run import Run

SETTING = ("data", "noise", "p", "n", "method", "hyper", "patience", "network", "quick")
"""Columns that, together with the seed, identify a run. Runs of more epochs replace those of fewer."""
RUN = ["setting", "seed", "epochs"]
"""Columns that identify a row; `setting` is added when rows are read."""
TYPES: dict[str, str] = {
    "data": "str",
    "noise": "str",
    "p": "float64",
    "n": "Int64",
    "method": "str",
    "hyper": "str",
    "seed": "int64",
    "epochs": "int64",
    "patience": "int64",
    "network": "str",
    "precision": "str",
    "quick": "str",
    "epochs_run": "int64",
    "best_epoch": "int64",
    "validation_accuracy": "float64",
    "validation_loss": "float64",
    "test_accuracy": "float64",
    "bootstrap_std": "float64",
    "gap_auc": "float64",
    "seconds": "float64",
    "failure": "str",
    "device": "str",
    "versions": "str",
    "commit": "str",
    "date": "str",
}
"""Column → type, in the order of the files. Accuracies are shares of 1."""
RESAMPLES = 1000


def read_rows(path: Path, *, values: bool = False) -> pd.DataFrame:
    """All rows of a file, in order, with the added column `setting`; none if there is no file.

    A last line without an end, which a crash may leave, is ignored.
    """
    types = TYPES | ({"values": "str"} if values else {})
    text = path.read_text("utf-8") if path.exists() else ""
    text = text[: text.rfind("\n") + 1] or ",".join(types) + "\n"
    if text.splitlines()[0] != ",".join(types):
        raise InputError(
            f"{path} has other columns than results have: move it away, or choose another --out."
        )
    empty = {name: [""] for name, kind in types.items() if kind != "str"}
    try:
        rows = pd.read_csv(io.StringIO(text), dtype=types, keep_default_na=False, na_values=empty)
    except ValueError as error:  # a ParserError too
        raise InputError(f"{path} is damaged ({error}): delete the line with the error.") from None
    rows["quick"] = rows["quick"] == "yes"
    return rows.assign(setting=[setting_key(row) for row in rows.to_dict("records")])


def append_rows(path: Path, rows: pd.DataFrame) -> None:
    """Add the rows at the end of the file, on disk when this returns; an incomplete last line is removed."""
    rows = rows.drop(columns="setting").assign(quick=rows["quick"].map({True: "yes", False: "no"}))
    make_folder(path.parent)
    with path.open("a+b") as file:
        file.seek(0)
        complete = file.read().rfind(b"\n") + 1
        file.truncate(complete)
        file.write(rows.to_csv(index=False, header=not complete, float_format="%.6g").encode())
        file.flush()
        os.fsync(file.fileno())


def current(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each run: the one that was allowed the most epochs, the first of equals."""
    longest = rows.sort_values("epochs", ascending=False, kind="stable")
    return longest.drop_duplicates(["setting", "seed"]).sort_index()


def is_exhausted(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Whether each run failed or stopped early, so that more epochs would change nothing."""
    return (rows["failure"] != "") | (rows["epochs_run"] < rows["epochs"])


def setting_key(row: Mapping[Any, Any]) -> str:
    """The columns of SETTING as one text."""

    def text(value: Any) -> str:
        if value is None or pd.isna(value):
            return ""
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    return ",".join(text(row[name]) for name in SETTING)


def make_row(run: Run, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The row of a run that has ended; `columns` are those of SETTING that are not in the run's spec."""
    spec, metrics = run.spec, run.metrics
    accuracy, cohort = metrics["test_accuracy"], metrics["cohort"]
    row = {
        **columns,
        **{name: getattr(spec, name) for name in ("method", "seed", "epochs", "patience", "precision")},
        **{name: metrics[name] for name in ("best_epoch", "validation_accuracy", "validation_loss")},
        "epochs_run": metrics["last_epoch"],
        "test_accuracy": accuracy,
        "bootstrap_std": None if accuracy is None else bootstrap_std(run),
        "gap_auc": metrics["gap_auc"] if get_method(spec.method).needs_predictor else None,
        "seconds": metrics["cohort_seconds"] / cohort if cohort else 0.0,
        "failure": " ".join((metrics["failure"] or "").split()),
        "device": metrics["device"],
        "versions": " ".join(f"{name}={version}" for name, version in metrics["versions"].items()),
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    frame = pd.DataFrame([{name: row[name] for name in TYPES} | {"setting": setting_key(row)}])
    return frame.astype({name: kind for name, kind in TYPES.items() if kind != "str"})


def bootstrap_std(run: Run) -> float:
    """Standard deviation of the test accuracy over resamples of the test examples: the paper's error bars.

    The number of right examples in a resample is binomial, so no examples need to be drawn.
    """
    examples = run.metrics["test_examples"]
    drawn = uniforms(run.spec.seed, Stream.SPLIT, RESAMPLES, RESAMPLES)
    return float(np.std(binom.ppf(drawn, examples, run.metrics["test_accuracy"]) / examples))


def commit() -> str:
    """The commit of this checkout, with a plus if files were changed; NOISELIMIT_COMMIT overrides it."""
    if named := os.environ.get("NOISELIMIT_COMMIT"):
        return named[:10]
    command = ["git", "describe", "--always", "--abbrev=10", "--exclude=*", "--dirty=+"]
    found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def rows_path(out: Path, name: str) -> Path:
    """Where the rows of a protocol are."""
    return out / f"{name}.csv"


def best(rows: pd.DataFrame) -> pd.DataFrame:
    """The run with the highest noisy-validation accuracy, then the lowest loss, that did not fail."""
    ended = rows[(rows["failure"] == "") & rows["validation_accuracy"].notna()]
    order = ended.sort_values(
        ["validation_accuracy", "validation_loss"], ascending=[False, True], kind="stable"
    )
    return order.head(1)
