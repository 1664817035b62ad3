"""The result in one sentence, made from the runs."""

from collections.abc import Sequence
from statistics import fmean

from noiselimit.report.content import BASELINE, RunLine
from noiselimit.report.wording import known, percent, run_name


def result_sentence(
    runs: Sequence[RunLine], wrong_share: float | None = None, *, clean_test: bool = True
) -> str:
    """`With 40 % wrong training labels, limit-l at β 10 reaches 98.1 % ...; cross-entropy ends at 67.2 %.`

    The runs are on one problem. Over several seeds it gives means: of the chosen runs that differ from the
    first chosen one in the seed only, and of the cross-entropy runs of its settings (or else of their first).
    """
    chosen = [run for run in runs if run.chosen]
    chosen = [run for run in chosen if run_name(run) == run_name(chosen[0])]
    reached = _known_of([run.test_accuracy for run in chosen])
    ended = _known_of([run.last_test_accuracy for run in _baseline(runs, chosen)])
    labels = "clean test labels" if clean_test else "the test labels"
    clauses = []
    if chosen and reached:
        name = "cross-entropy" if chosen[0].method == BASELINE else run_name(chosen[0], joined=" at ")
        clauses.append(f"{name} reaches {percent(fmean(reached))} on {labels}{_over(reached)}")
    elif chosen:
        clauses.append(f"validation chose {run_name(chosen[0], seed=True)}")
    if ended:
        subject = "its last epoch" if chosen and chosen[0].method == BASELINE and reached else "cross-entropy"
        clauses.append(f"{subject} ends at {percent(fmean(ended))}{_over(ended)}")
    if not clauses:
        clauses.append("1 run was trained" if len(runs) == 1 else f"{len(runs)} runs were trained")
    share = known(wrong_share)
    start = "" if share is None else f"With {percent(share, 0)} wrong training labels, "
    text = start + "; ".join(clauses) + "."
    return text[0].upper() + text[1:]


def _baseline(runs: Sequence[RunLine], chosen: Sequence[RunLine]) -> list[RunLine]:
    baseline = [run for run in runs if run.method == BASELINE]
    for model in (*chosen[:1], *baseline[:1]):
        alike = [run for run in baseline if run.settings == model.settings]
        if alike:
            return alike
    return []


def _known_of(values: Sequence[float | None]) -> list[float]:
    return [value for value in map(known, values) if value is not None]


def _over(values: Sequence[float]) -> str:
    return f" (mean of {len(values)} runs)" if len(values) > 1 else ""
