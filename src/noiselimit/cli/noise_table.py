"""A preview of noise on stdout: the matrix as a shaded table, or its largest entries if it is too wide."""

import math
from typing import TYPE_CHECKING

from noiselimit.cli.console import fits, say
from noiselimit.cli.tables import NONE, percent

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from noiselimit.noise import Preview

MOST_CLASSES = 20  # that a table shows whole
LARGEST = 20  # entries of a larger matrix
RIGHT, WRONG = (15, 108, 171), (196, 80, 11)  # colours of labels that stay and that change, as in reports
UNKNOWN = (
    "labels stay as they are; how many of them are wrong is not known, because clean labels are not "
    "(a table may have them in a column that --clean-label names)"
)
FAINTEST = 0.0005  # what would be written as 0.0


def print_preview(title: str, result: "Preview") -> None:
    """The title, the matrix in percent, the share of wrong labels and the bits."""
    from rich.text import Text

    if not result.clean_is_known:
        say(Text(title, style="bold"), UNKNOWN)
        return
    table = _fitting_table(result)
    heading = "rows: clean label, columns: label after the noise, in percent of the row"
    if table is None:
        table = _largest(result)
        heading = "the most frequent changes, in percent of the clean class; --json prints the whole matrix"
    say(Text(title, style="bold"), heading, table, _summary(result))


def _fitting_table(result: "Preview") -> "Table | None":
    """With names over the columns, else with numbers; None where neither fits."""
    if len(result.class_names) > MOST_CLASSES:
        return None
    numbers = [str(number) for number in range(len(result.class_names))]
    tables = (_matrix(result, list(heads)) for heads in (result.class_names, numbers))
    return next((table for table in tables if fits(table)), None)


def _matrix(result: "Preview", heads: list[str]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    if result.counts is not None:
        table.add_column("examples", justify="right")
    for head in (*heads, "wrong"):
        table.add_column(Text(head), justify="right")
    for row, name in enumerate(result.class_names):
        label = Text(name if heads[row] == name else f"{heads[row]} {name}", style="bold")
        size = [] if result.counts is None else [Text(f"{result.counts[row].sum():,}")]
        cells = [_cell(float(rate), column == row) for column, rate in enumerate(result.rates[row])]
        table.add_row(label, *size, *cells, Text(_number(float(result.wrong_by_class[row]))))
    return table


def _cell(rate: float, right: bool) -> "Text":
    from rich.text import Text

    if rate < FAINTEST:
        return Text("·", style="dim")
    return Text(_number(rate), style="" if math.isnan(rate) else _shade(rate, RIGHT if right else WRONG))


def _shade(rate: float, colour: tuple[int, int, int]) -> str:
    """A background from white to the colour; by the root, because small shares are what one looks for."""
    strength = math.sqrt(min(rate, 1))
    red, green, blue = (round(255 + strength * (part - 255)) for part in colour)
    return f"{'white' if strength > 0.6 else 'black'} on rgb({red},{green},{blue})"


def _largest(result: "Preview") -> "Table":
    from rich.table import Table
    from rich.text import Text

    entries = [
        (float(rate), row, column)
        for row, rates in enumerate(result.rates)
        for column, rate in enumerate(rates)
        if row != column and rate >= FAINTEST
    ]
    table = Table(box=None, pad_edge=False, show_header=False)
    for rate, row, column in sorted(entries, key=lambda entry: -entry[0])[:LARGEST]:
        names = f"{result.class_names[row]} → {result.class_names[column]}"
        table.add_row(Text(names), Text(_number(rate), justify="right"))
    return table


def _summary(result: "Preview") -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    if result.counts is None:
        table.add_row("wrong labels", f"{percent(result.expected_wrong)}, if classes are equally frequent")
    else:
        model = "" if result.expected_wrong is None else f", expected {percent(result.expected_wrong)}"
        table.add_row("wrong labels", f"{percent(result.wrong)} of {result.counts.sum():,} examples{model}")
    most = math.log2(len(result.class_names))
    table.add_row("H(y|x)", f"{result.bits:.3f} bits per label, of {most:.3f} possible")
    if result.bits_are_estimated:
        table.add_row("", "an estimate from the matrix above: of these labels only one draw is known")
    return table


def _number(rate: float) -> str:
    return NONE if math.isnan(rate) else f"{100 * rate:.1f}"
