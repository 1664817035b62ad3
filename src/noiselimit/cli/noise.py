"""noiselimit noise."""

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.cli.options import Json, Source, field_options, several, with_options
from noiselimit.cli.tables import NONE, fits, percent, plain_table, print_all
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from noiselimit.noise import Preview

MOST_CLASSES = 20  # of a matrix that is shown whole
LARGEST = 20  # entries shown of a larger matrix
RIGHT, WRONG = (15, 108, 171), (196, 80, 11)  # colours of kept and changed labels, as in reports
SMALLEST = 0.0005  # smaller rates would be printed as 0.0


@with_options(reading=field_options(Reading, "label", "clean_label", "ignore", "resize", "skip_bad_images"))
def noise(
    *,
    noise: Annotated[
        str,
        typer.Option(
            metavar="NAME,...", help="Such as uniform:0.4, pair:0.4 or given:worst; see docs/noise.md."
        ),
    ],
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Data to try the noise on, as in noiselimit train.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(metavar="K", help="Instead of data: a number of classes, or their names with commas."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the run whose noise to see.")] = 0,
    source: Source,
    reading: Reading,
    as_json: Json = False,
) -> None:
    """Show what noise does to labels.

    Prints which labels become which, the share of wrong labels, and H(y|x): the bits of a label that the
    input does not determine. Nothing is trained. The same seed in noiselimit train gives the same labels.
    """
    from noiselimit.cli.progress import print_notes
    from noiselimit.noise import parse_noise, preview, preview_classes

    if (data is None) == (classes is None):
        raise InputError("noiselimit noise needs either --data or --classes: give one of them.")
    if seed < 0:
        raise InputError(f"seed is {seed}: give a whole number ≥ 0.")
    noises = {text: parse_noise(text) for text in several("noise", noise)}
    if data is None:
        class_names = _class_names(str(classes))
        for text, each in noises.items():
            if each.kind in ("given", "instance"):
                raise InputError(f"noise '{text}' needs data: give --data instead of --classes.")
        place = f"{len(class_names)} classes"
        found = {text: preview_classes(class_names, each) for text, each in noises.items()}
    else:
        data_set = source.load(data, reading)
        print_notes(data_set.notes)
        place = f"{data_set.name}, seed {seed}"
        found = {text: preview(data_set.examples, each, seed) for text, each in noises.items()}
    if as_json:
        print(json.dumps([_as_json(text, result) for text, result in found.items()], indent=2))
        return
    for position, (text, result) in enumerate(found.items()):
        if position:
            print()
        print_preview(f"{text} on {place}", result)


def _class_names(text: str) -> list[str]:
    """'3' → ['0', '1', '2']; 'cat,dog' → ['cat', 'dog']."""
    given = [name.strip() for name in text.split(",")]
    if text.strip().isdecimal() and 2 <= int(text) <= 10_000:
        return [str(number) for number in range(int(text))]
    if len(given) < 2 or not all(given) or len(set(given)) < len(given):
        raise InputError(
            f"classes is '{text}': give a number from 2 to 10000, or different names with commas."
        )
    return given


def _as_json(text: str, result: "Preview") -> dict[str, Any]:
    return {
        "noise": text,
        "class_names": list(result.class_names),
        "counts": None if result.counts is None else result.counts.tolist(),
        "rates": _without_nan(result.rates.tolist()),
        "expected_rates": None if result.expected is None else _without_nan(result.expected.tolist()),
        "wrong": result.wrong,
        "expected_wrong": result.expected_wrong,
        "wrong_by_class": _without_nan(result.wrong_by_class.tolist()),
        "bits": _without_nan(result.bits),
        "bits_are_estimated": result.bits_are_estimated,
    }


def _without_nan(value: Any) -> Any:
    """None in place of NaN, which JSON does not have."""
    if isinstance(value, list):
        return [_without_nan(inner) for inner in value]
    return None if value != value else value


def print_preview(title: str, result: "Preview") -> None:
    """Print the transition matrix in percent, the share of wrong labels and the bits."""
    from rich.text import Text

    heading = Text(title, style="bold")
    if not result.clean_is_known:
        print_all(
            heading, "labels stay as they are; clean labels (--clean-label) would show how many are wrong"
        )
        return
    table = _fitting_table(result)
    caption = "rows: clean label, columns: label after the noise, in percent of the row"
    if table is None:
        table = _largest(result)
        caption = "the most frequent changes, in percent of the clean class; --json prints the whole matrix"
    print_all(heading, caption, table, _summary(result))


def _fitting_table(result: "Preview") -> "Table | None":
    """With class names over the columns, else with numbers; None if neither fits."""
    if len(result.class_names) > MOST_CLASSES:
        return None
    numbers = [str(number) for number in range(len(result.class_names))]
    tables = (_matrix(result, list(heads)) for heads in (result.class_names, numbers))
    return next((table for table in tables if fits(table)), None)


def _matrix(result: "Preview", heads: list[str]) -> "Table":
    from rich.text import Text

    sizes = [] if result.counts is None else ["examples"]
    table = plain_table("", *sizes, *heads, "wrong", left=1)
    for row, name in enumerate(result.class_names):
        label = Text(name if heads[row] == name else f"{heads[row]} {name}", style="bold")
        size = [] if result.counts is None else [Text(f"{result.counts[row].sum():,}")]
        cells = [_cell(float(rate), column == row) for column, rate in enumerate(result.rates[row])]
        table.add_row(label, *size, *cells, Text(_number(float(result.wrong_by_class[row]))))
    return table


def _cell(rate: float, right: bool) -> "Text":
    from rich.text import Text

    if rate < SMALLEST:
        return Text("·", style="dim")
    return Text(_number(rate), style="" if math.isnan(rate) else _shade(rate, RIGHT if right else WRONG))


def _shade(rate: float, colour: tuple[int, int, int]) -> str:
    """A background from white to the colour, by the root of the rate so that small rates are visible."""
    strength = math.sqrt(min(rate, 1))
    red, green, blue = (round(255 + strength * (part - 255)) for part in colour)
    return f"{'white' if strength > 0.6 else 'black'} on rgb({red},{green},{blue})"


def _largest(result: "Preview") -> "Table":
    from rich.text import Text

    entries = [
        (float(rate), row, column)
        for row, rates in enumerate(result.rates)
        for column, rate in enumerate(rates)
        if row != column and rate >= SMALLEST
    ]
    table = plain_table("", "", left=1, header=False)
    for rate, row, column in sorted(entries, key=lambda entry: -entry[0])[:LARGEST]:
        table.add_row(Text(f"{result.class_names[row]} → {result.class_names[column]}"), _number(rate))
    return table


def _summary(result: "Preview") -> "Table":
    table = plain_table("", "", left=2, header=False)
    if result.counts is None:
        table.add_row("wrong labels", f"{percent(result.expected_wrong)}, if classes are equally frequent")
    else:
        model = "" if result.expected_wrong is None else f", expected {percent(result.expected_wrong)}"
        table.add_row("wrong labels", f"{percent(result.wrong)} of {result.counts.sum():,} examples{model}")
    most = math.log2(len(result.class_names))
    table.add_row("H(y|x)", f"{result.bits:.3f} bits per label, of {most:.3f} possible")
    if result.bits_are_estimated:
        table.add_row("", "estimated from the matrix above, because only one draw of these labels is known")
    return table


def _number(rate: float) -> str:
    return NONE if math.isnan(rate) else f"{100 * rate:.1f}"
