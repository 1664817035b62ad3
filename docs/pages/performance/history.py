"""In the order in which it was built: a table of docs/performance.md, commit by commit."""

from collections.abc import Mapping
from typing import Any

from noiselimit.cli.bench_tables import NONE
from pages.performance.words import markdown, measured_on, seconds

WORKS = {
    "mnist-limit": "MNIST CNN, LIMIT-L",
    "cifar-ce": "CIFAR-10, ResNet-34, CE",
    "cifar-limit": "CIFAR-10, two ResNet-34, LIMIT-L",
}
Content = Mapping[str, Any]


def table(results: Content) -> str:
    """One line for each state that was timed, with what came with it."""
    lines = []
    cohorts = {each["work"] for row in results["rows"] for each in row["measured"] if each["k"] > 1}
    for row in results["rows"]:
        commit = f"before `{row['commit']}`" if row["before"] else f"`{row['commit']}`"
        lines.append([commit, row["what"], row["by"], *(_cell(row, work, work in cohorts) for work in WORKS)])
    ways = "; ".join(f"{name}, {what}" for name, what in results["from"].items())
    loose = f" Before a commit: {results['before']}." if any(row["before"] for row in results["rows"]) else ""
    columns = ["commit", "what came with it", "timed by", *WORKS.values()]
    return (
        f"{markdown(columns, lines, words=3)}\n\nSeconds per run and epoch; {NONE}: not timed. "
        f"Timed by: {ways}.{loose} Medians of {_epochs(results)} epochs of one training each: steps as small "
        f"as repeated measurements differ (above) say little.{_streams(results)} On {measured_on(results)}; "
        f"{results['recorded']}."
    )


def _cell(row: Content, work: str, named: bool) -> str:
    """As the engine does it: with both networks side by side."""
    own = [each for each in row["measured"] if each["work"] == work and each.get("streams") != 1]
    return ", ".join((f"K = {each['k']}: " if named else "") + _time(each) for each in own) or NONE


def _time(each: Content) -> str:
    return seconds(each["seconds"])


def _epochs(results: Content) -> str:
    numbers = sorted({each["epochs"] for row in results["rows"] for each in row["measured"]})
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _streams(results: Content) -> str:
    """What two streams bring, where one commit was timed with both."""
    said = []
    for row in results["rows"]:
        times = {each["streams"]: each for each in row["measured"] if "streams" in each}
        if {1, 2} <= times.keys():
            said.append(
                f" The two networks of LIMIT-L on CIFAR-10 at `{row['commit']}`: one after the other "
                f"{_time(times[1])}, side by side {_time(times[2])}."
            )
    return "".join(said)
