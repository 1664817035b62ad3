"""A whole bench: ceilings, rows and sweeps one after another, the file rewritten after each of them."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from noiselimit.bench.ceilings import measure_ceilings
from noiselimit.bench.effort import effort_for
from noiselimit.bench.entries import Entry, with_shares
from noiselimit.bench.notices import heard_notices
from noiselimit.bench.provenance import source_state
from noiselimit.bench.result import KIND, SCHEMA
from noiselimit.bench.rows import ROWS, figures_for
from noiselimit.bench.session import Session, Tell
from noiselimit.bench.sweeps import measure_point, points, swept_work
from noiselimit.bench.work import USUAL_WAY, Way
from noiselimit.files import write_json
from noiselimit.machine import available_cores
from noiselimit.training import circumstances

News = Callable[[str, float], None]
"""Hears what is being measured, and the share of all the arithmetic that is done."""


@dataclass(frozen=True)
class Wanted:
    """What to measure."""

    device: torch.device
    rows: tuple[str, ...]
    sweeps: tuple[str, ...] = ()
    quick: bool = False
    way: Way = USUAL_WAY


@dataclass(frozen=True)
class _Stage:
    label: str
    operations: float
    entries: str
    """Under which name the entries go: rows or points."""
    failed: Entry
    """What names the entry if it fails."""
    measure: Callable[[Tell], list[Entry]]


def run_bench(wanted: Wanted, out: Path, tell: News = lambda label, share: None) -> dict[str, Any]:
    """Measure, and return what stands in the file.

    The file is whole after every measurement, so that an interruption costs one of them; `finished` says
    whether it was the last. What fails is an entry with `failure`, and the others go on.
    """
    effort = effort_for(wanted.device.type, quick=wanted.quick)
    session = Session(wanted.device, available_cores(), effort, wanted.way)
    commit, changed = source_state()
    content: dict[str, Any] = {
        "kind": KIND,
        "schema": SCHEMA,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **circumstances(wanted.device),
        "device_type": wanted.device.type,
        "threads": session.threads,
        "commit": commit,
        "changed": changed,
        "quick": wanted.quick,
        "precision": session.precision,
        "kernels": wanted.way.kernels,
        "graphs": wanted.way.graphs,
        "finished": False,
        "ceilings": None,
        "rows": [],
        "points": [],
    }
    stages = _stages(wanted, session, content)
    whole, done = sum(stage.operations for stage in stages) or 1.0, 0.0
    tell("ceilings", 0.0)
    content["ceilings"] = measure_ceilings(wanted.device, session.threads, quick=wanted.quick).to_json()
    for stage in stages:
        tell(stage.label, done / whole)

        def tell_share(share: float, stage: _Stage = stage, done: float = done) -> None:
            tell(stage.label, (done + share * stage.operations) / whole)

        content[stage.entries] += _entries(stage, session, content, tell_share)
        done += stage.operations
        write_json(out, content)
    content["finished"] = True
    write_json(out, content)
    tell("done", 1.0)
    return content


def _entries(stage: _Stage, session: Session, content: dict[str, Any], tell: Tell) -> list[Entry]:
    try:
        # Held back, because a progress bar is no place for them: the table tells them.
        with heard_notices(pass_on=False) as notices:
            measured = stage.measure(tell)
    except RuntimeError as error:  # out of memory, a kernel that does not compile, a loss that is not finite
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        measured = [{**stage.failed, "failure": first}]
        gc.collect()
        if session.device.type == "cuda":
            torch.cuda.empty_cache()
    # A CPU's quick ceilings come from matrices too small to reach any: shares of them mean nothing.
    comparable = not (session.effort.quick and session.device.type == "cpu")
    entries = [
        # An entry that knows its own notices keeps those: a row may be the best of several trainings.
        with_shares({"notices": notices, **entry}, content["ceilings"], comparable=comparable)
        for entry in measured
    ]
    if stage.entries == "points":
        return entries
    return [_with_figures(entry, session) for entry in entries]


def _with_figures(entry: Entry, session: Session) -> Entry:
    if "failure" in entry:
        return entry
    figures = figures_for(entry["row"], session)
    return {**entry, "author": figures.author, "aim": figures.aim}


def _stages(wanted: Wanted, session: Session, content: dict[str, Any]) -> list[_Stage]:
    stages = [
        _Stage(
            name,
            ROWS[name].operations(session),
            "rows",
            {"row": name},
            lambda tell, name=name: ROWS[name].measure(session, tell),  # type: ignore[misc]
        )
        for name in wanted.rows
    ]
    for point in points(wanted.sweeps, wanted.device.type, quick=wanted.quick):
        runs = point.runs or "best"
        size = "" if point.train_size is None else f", n = {point.train_size}"
        stages.append(
            _Stage(
                f"sweep {point.sweep}, K = {runs}{size}",
                session.expected_operations(swept_work(session), point.runs or 64, point.train_size),
                "points",
                {"sweep": point.sweep, "k": point.runs, "n": point.train_size},
                lambda tell, point=point: measure_point(point, session, content, tell),  # type: ignore[misc]
            )
        )
    return stages
