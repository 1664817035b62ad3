"""The comparison itself: one problem after another, every training of it, then all figures."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from noiselimit.bench.detection.how import How
from noiselimit.bench.detection.methods import entries
from noiselimit.bench.detection.peers import Arrays
from noiselimit.bench.detection.probabilities import save_probabilities
from noiselimit.bench.detection.problem import Labelled, Problem, load_problem
from noiselimit.bench.detection.result import Content, is_measured, open_content, row_key
from noiselimit.bench.detection.stage import Took, train_stage
from noiselimit.bench.detection.trainings import EFFORT, TRAININGS
from noiselimit.bench.detection.wanted import Wanted
from noiselimit.bench.provenance import source_state
from noiselimit.cohort.device import find_device
from noiselimit.files import make_folder, write_json

News = Callable[[str, float], None]
"""Hears what is being measured, and about which share is done."""
Row = dict[str, Any]


def compare_detection(
    wanted: Wanted,
    out: Path,
    probabilities: Path | None = None,
    tell: News = lambda label, share: None,
) -> Content:
    """Measure what `out` does not hold yet, and return what it holds then.

    A training that fails leaves its reason in the row, and its tools without figures; the next call tries
    the row again.
    """
    content = open_content(out, wanted.how, quick=wanted.quick)
    if probabilities is not None:
        make_folder(probabilities)
    trainings = [name for name in TRAININGS if name not in wanted.without]
    missing = [problem for problem in wanted.problems if not is_measured(content, problem)]
    for number, problem in enumerate(missing):

        def tell_training(
            training: str, share: float, number: int = number, name: str = problem.name
        ) -> None:
            tell(f"{name}, {training}", (number + share) / len(missing))

        labelled = load_problem(problem)
        if number == 0 and find_device(wanted.how.device).type == "cuda":
            _warm_up(trainings, labelled, wanted.how, tell_training)
        row, found = _measure_row(problem, labelled, wanted.how, trainings, tell_training)
        if probabilities is not None:
            save_probabilities(probabilities, problem, labelled, found)
        others = [other for other in content["rows"] if row_key(other) != problem.key]
        content = {**content, "finished": number == len(missing) - 1, "rows": [*others, row]}
        write_json(out, content)
    tell("done", 1.0)
    return content


def _warm_up(trainings: Sequence[str], labelled: Labelled, how: How, tell: News) -> None:
    """One epoch each, so that nobody's seconds include the compilation of kernels that others use as well."""
    for training in trainings:
        tell(f"warming up {training}", 0.0)
        TRAININGS[training](labelled.data, 0, replace(how, epochs=1))


def _measure_row(
    problem: Problem, labelled: Labelled, how: How, trainings: Sequence[str], tell: News
) -> tuple[Row, dict[str, Arrays]]:
    found: dict[str, Arrays] = {}
    took: dict[str, Took] = {}
    failures: dict[str, str] = {}
    done, whole = 0.0, sum(EFFORT[training] for training in trainings)
    for training in trainings:
        tell(training, done / whole)
        try:
            found[training], took[training] = train_stage(training, problem, labelled, how)
        except RuntimeError as error:  # out of memory, a loss that is not finite
            failures[training] = (str(error).strip().splitlines() or [type(error).__name__])[0]
        done += EFFORT[training]
    spec = how.spec(labelled.data, problem.seed)
    commit, changed = source_state()
    row: Row = {
        "problem": {"data": problem.data, "noise": problem.noise, "seed": problem.seed}
        | {"examples": problem.examples},
        "n": len(labelled.clean),
        "classes": labelled.data.examples.classes,
        "wrong": float(labelled.wrong.mean()),
        "training": {name: getattr(spec, name) for name in _COMMON},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "changed": changed,
        "failures": failures,
        "best_epochs": {
            name: arrays["best_epochs"].tolist() for name, arrays in found.items() if "best_epochs" in arrays
        },
        "trainings": took,
        "methods": entries(found, labelled.data.examples.labels, labelled.wrong),
    }
    return row, found


_COMMON = (
    "network",
    "epochs",
    "batch_size",
    "optimiser",
    "learning_rate",
    "schedule",
    "augmentation",
    "precision",
    "validation_share",
)
"""Settings of the training that all tools share."""
