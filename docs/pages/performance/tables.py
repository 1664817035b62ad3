"""What was reached, on a GPU and on a CPU: tables of docs/performance.md, each from one bench file."""

from collections.abc import Mapping
from typing import Any

from noiselimit.bench.compare import measure_of
from noiselimit.cli.bench_tables import NONE, number
from noiselimit.report.wording import percent
from pages.performance.roofline import ceilings_sentence
from pages.performance.words import WORK, caveats, count, markdown, measured_on, seconds, times

GPU_ROWS = ("mnist-cohort", "mnist-one", "cifar-limit", "cifar-ce", "set-up-cold", "set-up-warm")
CPU_ROWS = ("digits-cohort", "digits-step", "set-up-cold", "set-up-warm")
Content = Mapping[str, Any]


def table(bench: Content) -> str:
    """The author's code, the aim, what was measured, and shares of the ceilings."""
    found = {row["row"]: row for row in bench["rows"]}
    rows = []
    for name in GPU_ROWS:
        row = found.get(name, {})
        value = _value(row)
        author = row.get("author")
        rows.append(
            [
                WORK[name],
                count(row.get("k")),
                count(row.get("n")),
                seconds(author),
                seconds(row.get("aim")),
                seconds(value) if value is not None else _absence(row),
                times(author / value if author and value else None),
                percent(row.get("share_of_tflop")),
                percent(row.get("share_of_gb")),
            ]
        )
    columns = (
        "work, K, n, author's code, aim: at most, measured, author's ÷ measured, of arithmetic, of memory"
    )
    timed = [row for row in bench["rows"] if "epoch_seconds" in row]
    how = "; ".join(f"{row['row']} {row['repeats']} after {row['warm_up']}" for row in timed)
    return "\n\n".join(
        [
            markdown(columns.split(", "), rows),
            _verdict(found, GPU_ROWS),
            "Seconds per run and epoch, validation and test accuracy of every epoch included; set-up: "
            f"seconds once. Medians of epochs, the first ones left out ({how}).{_cohorts(found)} "
            f"{ceilings_sentence(bench)} Measured on {measured_on(bench)}.",
            *caveats(bench),
        ]
    )


def cpu(bench: Content) -> str:
    """The ratios on a CPU, with the times that they are ratios of."""
    found = {row["row"]: row for row in bench["rows"]}
    rows = []
    for name in CPU_ROWS:
        row = found.get(name, {})
        value, ratio = _value(row), "ratio" in row
        sides = "; ".join(f"{way}: {seconds(each)}" for way, each in row.get("medians_of", {}).items())
        rows.append(
            [
                WORK[name],
                sides or NONE,
                count(row.get("k")),
                count(row.get("n")),
                number(row.get("aim")) if ratio else seconds(row.get("aim")),
                _absence(row) if value is None else number(value) if ratio else seconds(value),
            ]
        )
    columns = ["work", "medians", "K", "n", "aim: at most", "measured"]
    threads = bench["threads"]
    return "\n\n".join(
        [
            markdown(columns, rows, words=2),
            _verdict(found, CPU_ROWS),
            "The sides of a ratio are measured in turn; an epoch contains its evaluation, the same on both "
            "sides, so the ratio of the steps alone is higher. A cohort and the runs one after another may "
            f"use {threads} threads each. Measured on {measured_on(bench)}.",
            *caveats(bench),
        ]
    )


def _cohorts(found: Mapping[str, Content]) -> str:
    """Of which sizes the best cohort is the best."""
    tried = found.get("mnist-cohort", {}).get("tried", [])
    sizes = ", ".join(f"K = {entry['k']}: {seconds(entry['seconds'])}" for entry in tried)
    return f" Cohorts measured: {sizes}." if sizes else ""


def _value(row: Content) -> Any:
    """The figure that the row is about, or None."""
    measure = measure_of(row)
    return None if measure is None else row[measure]


def _absence(row: Content) -> str:
    return "failed" if "failure" in row else "not measured"


def _verdict(found: Mapping[str, Content], names: tuple[str, ...]) -> str:
    """Which aims are met, from the figures themselves; what has no figure meets none."""
    held = {name: found[name] for name in names if name in found and found[name].get("aim") is not None}
    nothing = [name for name in names if _value(found.get(name, {})) is None]
    without = f" Without a figure: {', '.join(nothing)}." if nothing else ""
    if not held:
        return f"These figures are held against no aim.{without}"
    missed = [name for name, row in held.items() if _value(row) > row["aim"]]
    named = f"; missed: {', '.join(missed)}" if missed else ""
    return f"Aims met: {len(held) - len(missed)} of {len(held)}{named}.{without}"
