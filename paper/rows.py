"""Result rows: one line of CSV for every run, read and appended as pandas frames.

A table's rows are in OUT/<data>.csv. What figures draw of a run is in OUT/figures/<kind>.csv, which has one
column more, `values`.
"""

import csv
import io
import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from noiselimit.errors import InputError
from noiselimit.files import file_lock, make_folder
from noiselimit.methods import METHODS, get_method
from noiselimit.randomness import Stream, uniforms
from noiselimit.runs.run import Run

SETTING = ("data", "noise", "p", "n", "method", "hyper", "patience", "network", "quick")
"""Columns that, together with the seed, identify a run. Runs of more epochs replace those of fewer."""
RUN = ["setting", "seed", "epochs"]
"""Columns that identify a row; `setting` is added when rows are read."""
SHARES = ("validation_accuracy", "test_accuracy", "bootstrap_std", "gap_auc")
COUNTS = ("seed", "epochs", "patience", "epochs_run", "best_epoch")
NUMBERS = ("p", "n", *COUNTS, *SHARES, "validation_loss", "seconds")
MAY_BE_EMPTY = ("p", "n", *SHARES, "validation_loss")
COLUMNS = (
    *("data", "noise", "p", "n", "method", "hyper", "seed", "epochs", "patience", "network", "precision"),
    *("quick", "epochs_run", "best_epoch", "validation_accuracy", "validation_loss", "test_accuracy"),
    *("bootstrap_std", "gap_auc", "seconds", "failure", "device", "versions", "commit", "date"),
)
"""See `make_row`; docs/results-details.md explains them."""
RESAMPLES = 1000


def read_rows(path: Path, *, values: bool = False) -> pd.DataFrame:
    """All rows of a file, in order, with the added column `setting`; none if there is no file.

    A last line without an end, which a crash may leave, is ignored.
    """
    columns = [*COLUMNS, "values"] if values else list(COLUMNS)
    text = ""
    if path.exists():
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read ({error}): name a file of results.") from None
    text = text[: text.rfind("\n") + 1] or ",".join(columns) + "\n"
    if text.splitlines()[0] != ",".join(columns):
        raise InputError(f"{path} has other columns than results have: move it away, or name another place.")
    try:
        rows = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, index_col=False)
    except pd.errors.ParserError as error:
        raise InputError(f"{path} is damaged ({' '.join(str(error).split())}): repair it.") from None
    return _checked(rows, path)


def _checked(rows: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The rows with numbers in place of text; an InputError names the first line that cannot be a result."""

    def require(sound: "pd.Series[bool]", what: str) -> None:
        if not sound.all():
            line = int(np.flatnonzero(~sound)[0]) + 2
            raise InputError(f"{path} is damaged in line {line} ({what}): delete that line.")

    require(rows.notna().all(axis=1), "too few columns")
    require(rows["quick"].isin(["yes", "no"]), "quick is neither yes nor no")
    rows["quick"] = rows["quick"] == "yes"
    require(rows["method"].isin(METHODS), "unknown method")
    for name in NUMBERS:
        number = pd.to_numeric(rows[name], errors="coerce").astype(float)
        empty = (rows[name] == "") & (name in MAY_BE_EMPTY)
        require(empty | (np.isfinite(number) & (number >= 0)), f"{name} is no number ≥ 0")
        rows[name] = number
    for name in ("p", *SHARES):
        require(~(rows[name] > 1), f"{name} is above 1")
    for name in COUNTS:
        require(rows[name] % 1 == 0, f"{name} is no whole number")
        rows[name] = rows[name].astype(int)
    require(rows["epochs_run"].between(rows["best_epoch"], rows["epochs"]), "epochs contradict each other")
    results = rows[["validation_accuracy", "validation_loss", "test_accuracy", "bootstrap_std"]].notna()
    require(results.all(axis=1) | ~results.any(axis=1), "half of the result is missing")
    require(results.all(axis=1) | (rows["failure"] != ""), "neither a result nor a failure")
    rows["setting"] = [setting_key(row) for row in rows.to_dict("records")]
    return rows


def append_rows(path: Path, rows: pd.DataFrame) -> None:
    """Add the rows at the end of the file, on disk when this returns; an incomplete last line is removed."""
    columns = [name for name in rows.columns if name != "setting"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([as_text(value) for value in row] for row in rows[columns].itertuples(index=False))
    make_folder(path.parent)
    with file_lock(path), path.open("a+b") as file:
        file.seek(0)
        complete = file.read().rfind(b"\n") + 1
        file.truncate(complete)
        header = "" if complete else ",".join(columns) + "\n"
        file.write((header + text.getvalue()).encode())
        file.flush()
        os.fsync(file.fileno())


def current(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each run: the one that was allowed the most epochs, the first of equals."""
    longest = rows.sort_values("epochs", ascending=False, kind="stable")
    return longest.drop_duplicates(["setting", "seed"]).sort_index()


def is_exhausted(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Whether each run ended by itself, so that more epochs would change nothing."""
    return (rows["failure"] != "") | (rows["epochs_run"] < rows["epochs"])


def setting_key(row: Mapping[Any, Any]) -> str:
    """The columns of SETTING as one text."""
    return ",".join(as_text(row[name]) for name in SETTING)


def as_text(value: Any) -> str:
    """A value as files have it: yes and no, numbers to six digits, text on one printable line."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in " ".join(str(value).split()))


def make_row(run: Run, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The row of a run that has ended; `columns` are those of SETTING that the run's spec does not tell."""
    spec, metrics = run.spec, run.metrics
    accuracy, cohort = metrics["test_accuracy"], metrics["cohort"]
    row = {
        **columns,
        "method": spec.method,
        "seed": spec.seed,
        "epochs": spec.epochs,
        "patience": spec.patience,
        "precision": spec.precision,
        "epochs_run": metrics["last_epoch"],
        "best_epoch": metrics["best_epoch"],
        "validation_accuracy": metrics["validation_accuracy"],
        "validation_loss": metrics["validation_loss"],
        "test_accuracy": accuracy,
        "bootstrap_std": None if accuracy is None else bootstrap_std(run),
        "gap_auc": metrics["gap_auc"] if get_method(spec.method).needs_predictor else None,
        "seconds": metrics["cohort_seconds"] / cohort if cohort else 0.0,
        "failure": metrics["failure"] or "",
        "device": metrics["device"],
        "versions": " ".join(f"{name}={version}" for name, version in metrics["versions"].items()),
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return pd.DataFrame([{name: row[name] for name in COLUMNS} | {"setting": setting_key(row)}])


def bootstrap_std(run: Run) -> float:
    """Standard deviation of the test accuracy over resamples of the test examples: the paper's error bars.

    How many examples of a resample are right is binomial, so that no examples need be drawn.
    """
    examples = run.metrics["test_examples"]
    drawn = uniforms(run.spec.seed, Stream.SPLIT, RESAMPLES, RESAMPLES)
    return float(np.std(binom.ppf(drawn, examples, run.metrics["test_accuracy"]) / examples))


def commit() -> str:
    """The commit of this checkout, with a plus if files were changed; NOISELIMIT_COMMIT overrides it."""
    if named := os.environ.get("NOISELIMIT_COMMIT"):
        return named[:10]
    command = ["git", "describe", "--always", "--abbrev=10", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True, timeout=60
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def rows_path(out: Path, data: str) -> Path:
    """Where the rows of a data set are."""
    return out / f"{data}.csv"


def best(rows: pd.DataFrame) -> pd.DataFrame:
    """The run with the highest noisy-validation accuracy, then the lowest loss, that did not fail."""
    ended = rows[(rows["failure"] == "") & rows["validation_accuracy"].notna()]
    order = ended.sort_values(
        ["validation_accuracy", "validation_loss"], ascending=[False, True], kind="stable"
    )
    return order.head(1)
