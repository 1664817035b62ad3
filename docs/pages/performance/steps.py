"""What each step brought, and what doing otherwise costs: tables of docs/performance.md that compare ways."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from noiselimit.cli.bench_tables import NONE, number
from pages.performance.words import WORK, caveats, count, markdown, measured_on, seconds, times

ROWS = ("mnist-one", "mnist-cohort", "cifar-ce", "cifar-limit")
SWITCHES = ("precision", "graphs", "kernels")
Content = Mapping[str, Any]


def table(steps: Sequence[Content]) -> str:
    """One line for each bench, with what it changes and the factor over the one before."""
    found = [{row["row"]: row for row in step["rows"]} for step in steps]
    lines = []
    for number_, (step, rows) in enumerate(zip(steps, found, strict=True)):
        before = found[number_ - 1] if number_ else {}
        cells = [_cell(rows.get(name, {}), before.get(name, {})) for name in ROWS]
        lines.append([_change(step, steps[number_ - 1] if number_ else None), *cells])
    first, last = found[0], found[-1]
    lines.append(["together", *(times(_factor(first.get(name, {}), last.get(name, {}))) for name in ROWS)])
    sizes = "; ".join(f"{name} {_sizes(found, name)}" for name in ROWS)
    return "\n\n".join(
        [
            markdown(["", *(WORK[name] for name in ROWS)], lines),
            "Seconds per run and epoch, in brackets the factor over the line before. Training examples: "
            f"{sizes}.{_slower(steps, found)}",
            *_where(steps),
            *dict.fromkeys(
                said for step in steps for said in caveats({**step, "quick": False})
            ),  # that they are small is said above
        ]
    )


def tried(results: Content) -> str:
    """Things done otherwise than the engine does them."""
    rows = []
    for row in results["rows"]:
        factor = row["instead_seconds"] / row["seconds"]
        rows.append(
            [
                row["what"],
                row["work"],
                count(row["k"]),
                seconds(row["seconds"]),
                seconds(row["instead_seconds"]),
                times(factor),
            ]
        )
    columns = ["done otherwise", "work", "K", "as it is", "otherwise", "otherwise ÷ as it is"]
    faster = [row["what"] for row in results["rows"] if row["instead_seconds"] < row["seconds"]]
    noted = f" Faster than the engine here: {'; '.join(faster)}." if faster else ""
    commits = list(dict.fromkeys(row["commit"] for row in results["rows"] if row.get("commit")))
    if len(commits) > 1:
        noted += f" Rows were measured at {' and '.join(commits)}, in this order."
    return (
        f"{markdown(columns, rows, words=2)}\n\nSeconds per run and epoch, each from one training, so that "
        f"small differences say little.{noted} Measured on {measured_on(results)}."
    )


def compiled(results: Content) -> str:
    """torch.compile beside our own epoch; the comparison leaves its side less to do, and says so."""
    theirs = results["step_seconds"] * results["steps"]
    return (
        f"`torch.compile` on a ResNet-34 (bfloat16 by autocast, channels last), forward and backward alone: "
        f"{seconds(theirs)} for the {results['steps']} steps of an epoch, without batches, optimiser and "
        f"evaluation, after {seconds(results['compile_seconds'])} for the first step. The whole epoch of the "
        f"engine, all of that included: {seconds(results['our_epoch_seconds'])}. In the compiler's default "
        "mode: no recorded steps and no search among algorithms (`max-autotune`), both of which would help "
        f"it, while the engine has them. Measured on {measured_on(results)}."
    )


def _change(step: Content, before: Content | None) -> str:
    """What is switched otherwise than in the step before; all of it in the first."""
    said = {
        "precision": f"{step['precision']} activations",
        "graphs": "launches one by one" if step["graphs"] == "off" else "recorded steps",
        "kernels": "torch's kernels" if step["kernels"] == "off" else "our own kernels",
    }
    if before is None:
        return ", ".join(said.values())
    return "then " + (
        ", ".join(said[name] for name in said if step[name] != before[name]) or "the same again"
    )


def _cell(row: Content, before: Content) -> str:
    if "seconds" not in row:
        return "failed" if "failure" in row else NONE
    cohort = f", K = {row['k']}" if row["k"] > 1 else ""
    factor = _factor(before, row)
    return f"{seconds(row['seconds'])}{cohort}" + ("" if factor is None else f" ({number(factor)} ×)")


def _factor(before: Content, after: Content) -> float | None:
    return before["seconds"] / after["seconds"] if "seconds" in before and "seconds" in after else None


def _sizes(found: Sequence[Mapping[str, Content]], name: str) -> str:
    sizes = {rows[name]["n"] for rows in found if "n" in rows.get(name, {})}
    return " or ".join(count(size) for size in sorted(sizes)) or NONE


def _slower(steps: Sequence[Content], found: Sequence[Mapping[str, Content]]) -> str:
    """Why another type of activations alone can cost time; nothing where it does not."""
    said = []
    for before, after in pairwise(range(len(steps))):
        changed = [name for name in SWITCHES if steps[before][name] != steps[after][name]]
        factors = [_factor(found[before].get(name, {}), found[after].get(name, {})) for name in ROWS]
        slower = [times(factor) for factor in factors if factor is not None and factor < 1]
        if changed == ["precision"] and steps[after]["graphs"] == "off" and slower:
            said.append(
                f" {steps[after]['precision']} alone is slower in {len(slower)} of {len(ROWS)} columns "
                f"({', '.join(slower)}), probably because a step launched kernel by kernel is bound by "
                "launches, and casts add some."
            )
    return "".join(said)


def _where(steps: Sequence[Content]) -> list[str]:
    """One sentence if all were measured in the same place, else one for each."""
    places = list(dict.fromkeys(measured_on(step) for step in steps))
    return [f"Measured on {place}." for place in places]
