"""Audit again with the decisions so far, in a process of its own, to rank better what is left."""

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.audit.decisions import REAUDIT
from noiselimit.audit.folder import open_audit
from noiselimit.audit.plan import DEFAULT, FAST, AuditPlan
from noiselimit.audit.saved import SavedAudit
from noiselimit.data.examples import MISSING_LABEL, DataSet
from noiselimit.data.reading import readable
from noiselimit.errors import InputError
from noiselimit.files import atomic_file
from noiselimit.machine import available_cores

COLUMNS = {"row": "i", "error_probability": "f", "predicted": "i", "flagged": "b"}
"""Columns of the file; the predicted class is a number."""
ENDING_SECONDS = 5.0


class Reaudit:
    """The process that audits again; one at a time.

    Parameters
    ----------
    folder
        The audit's folder, and where the data are if they moved.
    finished
        Called when there are new probabilities.
    """

    def __init__(self, folder: Path, data: Path | None, finished: Callable[[], None]) -> None:
        self._command = [sys.executable, "-m", "noiselimit.review.reaudit", str(folder), str(data or "")]
        self._finished = finished
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.message = ""
        self.done = 0
        """How often it has succeeded."""

    @property
    def running(self) -> bool:
        """Whether an audit is under way."""
        return self._thread is not None and self._thread.is_alive()

    def state(self) -> dict[str, Any]:
        """What the page shows."""
        return {"running": self.running, "message": self.message, "done": self.done}

    def start(self) -> None:
        """Begin, unless an audit is under way."""
        with self._lock:
            if self.running:
                return
            self.message = "starting …"
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            )
            self._thread = threading.Thread(target=self._watch, args=(self._process,), daemon=True)
            self._thread.start()

    def _watch(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        reason = "it was ended"
        for line in process.stdout:
            if line.endswith(" %\n"):
                self.message = f"training … {line.strip()}"
            else:
                reason = line.strip()
        process.stdout.close()
        if process.wait() == 0:
            self._finished()
            self.done += 1
            self.message = "The rest is ranked with your decisions."
        else:
            self.message = f"The audit failed: {reason}"

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        if self._thread is not None:
            self._thread.join()


def read_reaudit(folder: Path, count: int, classes: int) -> pd.DataFrame | None:
    """What the last audit with decisions found for each of `count` rows; None if there was none."""
    path = folder / REAUDIT
    if not path.is_file():
        return None
    with readable(path, "delete this file"):
        table = pd.read_parquet(path)
        kinds = {name: table[name].dtype.kind for name in COLUMNS}
        if kinds != COLUMNS or table["row"].tolist() != list(range(count)):
            raise ValueError("it belongs to other data")
        inside = table["predicted"].between(0, classes - 1) & table["error_probability"].between(0, 1)
        if not inside.all():
            raise ValueError("its values are out of range")
    return table


def with_decisions(data: DataSet, decided: pd.DataFrame, class_names: tuple[str, ...]) -> DataSet:
    """The data with the labels that were decided, and without those of dropped examples."""
    numbers = {name: number for number, name in enumerate(class_names)}
    labels = data.examples.labels.copy()
    for row, action, label in zip(decided["row"], decided["action"], decided["label"], strict=True):
        if action == "drop":
            labels[row] = MISSING_LABEL
        elif action == "relabel" and label in numbers:
            labels[row] = numbers[label]
    return replace(data, examples=replace(data.examples, labels=labels, clean_labels=None))


def audit_again(saved: SavedAudit, progress: Callable[[Any], None] | None = None) -> pd.DataFrame:
    """Train on the labels as decided so far; return the columns of REAUDIT, and write the file."""
    from noiselimit.audit.fit import audit_data

    if not saved.task.has_classes:
        raise InputError("Another audit with decisions is for classes only: write a copy and audit that.")
    data = with_decisions(saved.load(), saved.decisions(), saved.class_names)
    if saved.embedding is not None:
        data = replace(data, examples=replace(data.examples, inputs=saved.features()))
    found, _ = audit_data(data, _plan(saved), progress=progress, threads=max(available_cores() - 1, 1))
    table = found.table
    result = pd.DataFrame(
        {
            "row": np.arange(len(table)),
            "error_probability": table["error_probability"].fillna(0.0),
            "predicted": table["predicted_label"].astype(np.int64),
            "flagged": table["is_label_issue"].astype(bool),
        }
    )
    with atomic_file(saved.folder / REAUDIT) as temporary:
        result.to_parquet(temporary, index=False)
    return result


def _plan(saved: SavedAudit) -> AuditPlan:
    """The audit's plan: its seeds, whether it was fast, and its network unless that is a user's code."""
    runs = saved.summary.get("runs", [])
    network = str(runs[0]["network"]) if runs else "auto"
    usual = FAST if len(runs) == 1 else DEFAULT
    seeds = tuple(dict.fromkeys(int(run["seed"]) for run in runs)) or usual.seeds
    return replace(usual, network="auto" if "." in network or ":" in network else network, seeds=seeds)


def main(arguments: list[str]) -> int:
    """Audit again; print the share that is done, and an error as one sentence."""
    folder, data = arguments

    def show(progress: Any) -> None:
        print(f"{100 * progress.done // max(progress.total, 1)} %", flush=True)

    try:
        audit_again(open_audit(folder, data or None), show)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
