"""How cost grows: seconds per run and epoch against K and against n, peak device memory against K."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noiselimit.bench.entries import Entry, timed_entry
from noiselimit.bench.session import Session, Tell
from noiselimit.bench.work import DIGITS_LIMIT, MNIST, Work
from noiselimit.errors import InputError, unknown

SWEEPS = ("k", "n", "memory")
COHORTS = {"cuda": (1, 2, 4, 8, 16, 32, 64, 128, 256), "cpu": (1, 2, 4, 8)}
QUICK_COHORTS = {"cuda": (1, 4, 16), "cpu": (1, 2)}
SIZES = {"cuda": (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 48_000), "cpu": (128, 256, 512, 1_024)}
QUICK_SIZES = {"cuda": (1_000, 4_000), "cpu": (64, 128)}
USUAL_COHORT = {"cuda": 64, "cpu": 8}  # for the sweep over n where no best K was measured


@dataclass(frozen=True)
class Point:
    """One training of a sweep; runs None: as many as were best so far."""

    sweep: str
    runs: int | None
    train_size: int | None


def chosen_sweeps(name: str | None, device_type: str) -> list[str]:
    """What '--sweep' asks for. The points of a sweep over K carry their memory, so 'all' measures once."""
    if name is None:
        return []
    if name == "all":
        return ["k", "n"]
    if name not in SWEEPS:
        raise unknown("sweep", name, [*SWEEPS, "all"])
    if name == "memory" and device_type != "cuda":
        raise InputError("sweep 'memory' measures the memory of a GPU: run it where one is.")
    return [name]


def points(sweeps: Sequence[str], device_type: str, *, quick: bool) -> list[Point]:
    """The points of these sweeps, small ones first."""
    cohorts = (QUICK_COHORTS if quick else COHORTS)[device_type]
    sizes = (QUICK_SIZES if quick else SIZES)[device_type]
    found: list[Point] = []
    for sweep in sweeps:
        if sweep == "n":
            found += [Point(sweep, runs, size) for runs in (1, None) for size in sizes]
        else:
            found += [Point(sweep, runs, None) for runs in cohorts]
    return found


def swept_work(session: Session) -> Work:
    """What is trained in a sweep."""
    return MNIST if session.device.type == "cuda" else DIGITS_LIMIT


def measure_point(point: Point, session: Session, so_far: Mapping[str, Any], tell: Tell) -> list[Entry]:
    """One point, as an entry under `points`."""
    runs = point.runs or best_cohort(so_far, session.device.type)
    timed = session.time(swept_work(session), runs, train_size=point.train_size, tell=tell)
    return [{"sweep": point.sweep, **timed_entry(timed, session.cost(timed))}]


def best_cohort(so_far: Mapping[str, Any], device_type: str) -> int:
    """The K of the least seconds per run and epoch that was measured at full size, or the usual one."""
    rows = [each for row in so_far["rows"] if row["row"] == "mnist-cohort" for each in row.get("tried", [])]
    swept = [point for point in so_far["points"] if point["sweep"] in ("k", "memory")]
    known = [entry for entry in [*rows, *swept] if "seconds" in entry and entry["k"] > 1]
    if not known:
        return USUAL_COHORT[device_type]
    return int(min(known, key=lambda entry: entry["seconds"])["k"])
