"""What memory a cohort takes, and what its measured peaks contain besides, for docs/performance.md."""

from collections.abc import Mapping, Sequence
from typing import Any

from noiselimit.bench.work import MNIST
from noiselimit.cli.bench_tables import number
from noiselimit.cohort.block_data import EVALUATED_ON_GPU
from pages.performance.charts import GIB
from pages.performance.words import count

Content = Mapping[str, Any]
Points = Sequence[Content]


def per_run(points: Points) -> str:
    """From the two largest K, where what does not grow with K weighs least."""
    whole = [point for point in points if point["parts"] == 1]
    if len(whole) < 2:
        return ""
    low, high = whole[-2:]
    grown = (high["peak_reserved"] - low["peak_reserved"]) / GIB / (high["k"] - low["k"])
    return f" One more run reserves {number(grown)} GiB, from K = {low['k']} to {high['k']}."


def repeated(bench: Content) -> str:
    """How far peaks of the same work differ in one process, and why small cohorts have all the same."""
    found: dict[tuple[int, int], list[float]] = {}
    entries = [entry for row in bench["rows"] for entry in row.get("tried", [row])]
    for entry in [*entries, *bench["points"]]:
        if entry.get("peak_memory") and (entry["network"], entry["method"]) == (MNIST.network, MNIST.method):
            found.setdefault((entry["k"], entry["n"]), []).append(entry["peak_memory"] / GIB)
    apart = {key: values for key, values in found.items() if max(values) > 1.05 * min(values)}
    said = (
        f" Small cohorts need about the same, since evaluation takes {count(EVALUATED_ON_GPU)} examples of "
        "all runs at a time."
    )
    if apart:
        (k, n), values = max(apart.items(), key=lambda item: max(item[1]) / min(item[1]))
        said += (
            f" Peaks contain what libraries kept from trainings before in the process: K = {k} with "
            f"n = {count(n)} has {number(min(values))} to {number(max(values))} GiB in tensors."
        )
    return said
