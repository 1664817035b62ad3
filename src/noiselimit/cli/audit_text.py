"""What an audit found, for reading on a terminal: how many first, then which."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from noiselimit.cli.console import say

if TYPE_CHECKING:
    from rich.table import Table

LONGEST_NAME = 40


def print_answer(answer: Mapping[str, Any], sentences: Sequence[str]) -> None:
    """The sentences, the first being the one that counts, then tables."""
    from rich.text import Text

    say(Text(sentences[0], style="bold"), *sentences[1:])
    print()
    say(Text("The labels to look at first", style="bold"), _worst(answer["worst"]))
    if answer["confusions"]:
        heading = Text("Classes that are often mistaken for others", style="bold")
        print()
        say(heading, _confusions(answer["confusions"]))
    print()


def print_places(written: Mapping[str, str], cleaned: Mapping[str, Any] | None) -> None:
    """Where everything is; the page last, for that is what to open."""
    if cleaned is not None:
        relabelled = f"{cleaned['relabelled']:,} with the suggested label"
        did = f"{cleaned['dropped']:,} dropped" if cleaned["fix"] == "drop" else relabelled
        print(f"Cleaned copy: {cleaned['file']} ({cleaned['rows']:,} rows, {did})")
    print(f"All labels: {written['label_issues_csv']} and .parquet; probabilities: {written['pred_probs']}")
    print(f"Look at {written['report']}")


def print_failures(answer: Mapping[str, Any]) -> None:
    """Runs that broke down, on stderr: the others judged without them."""
    for run in answer["runs"]:
        if run["failure"] is not None:
            print(f"failed: β {run['beta']:g}, seed {run['seed']}: {run['failure']}.", file=sys.stderr)


def plain(text: str) -> str:
    """Text from data on one line, with nothing in it that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _worst(rows: Sequence[Mapping[str, Any]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    paths = any("path" in row for row in rows)
    table.add_column("picture" if paths else "row", justify="left" if paths else "right")
    for name in ("given", "suggested"):
        table.add_column(name)
    table.add_column("quality", justify="right")
    mixed = len({row["is_label_issue"] for row in rows}) > 1
    if mixed:
        table.add_column("")
    for row in rows:
        table.add_row(
            Text(plain(str(row.get("path", row["row"])))),
            *(Text(_short(row[name])) for name in ("given_label", "suggested_label")),
            quality(row["label_quality"]),
            *(["flagged" if row["is_label_issue"] else ""] if mixed else []),
        )
    return table


def quality(value: float) -> str:
    """0.123, and of what would round to nothing the size: the worst labels differ in that alone."""
    return f"{value:.3f}" if value >= 0.0005 or value == 0 else f"{value:.0e}"


def _confusions(found: Sequence[Mapping[str, Any]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("given", "probably"):
        table.add_column(name)
    table.add_column("labels, about", justify="right")
    for one in found:
        names = (Text(_short(one[name])) for name in ("given_label", "right_label"))
        table.add_row(*names, f"{one['labels']:,.0f}")
    return table


def _short(name: str) -> str:
    text = plain(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"
