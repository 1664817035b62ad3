"""noiselimit noise."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.cli.options import Json, Source, field_options, several, with_options
from noiselimit.cli.tables import NONE, fits, percent, plain_table, print_all, print_json
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError
from noiselimit.progress import print_notes

if TYPE_CHECKING:
    from rich.table import Table

    from noiselimit.noise import Preview

MOST_CLASSES = 20  # of a matrix that is shown whole
LARGEST = 20  # entries shown of a larger matrix
SMALLEST = 0.0005  # smaller rates would be printed as 0.0


@with_options(reading=field_options(Reading, "label", "clean_label", "ignore", "resize", "skip_bad_images"))
def noise(
    *,
    noise: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="Such as uniform:0.4, pair:0.4 or given:worst; see noiselimit docs noise.",
        ),
    ],
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Data to try the noise on, as in noiselimit train.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(metavar="K", help="Instead of data: a number of classes, or their names with commas."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the run to preview.")] = 0,
    source: Source,
    reading: Reading,
    as_json: Json = False,
) -> None:
    """Show what noise does to labels.

    Prints which labels become which, the share of wrong labels, and H(y|x): the bits of a label that the
    input does not determine. Nothing is trained. The same seed in noiselimit train gives the same labels.
    """
    from noiselimit.data.catalogue import load_data
    from noiselimit.noise import parse_noise, preview, preview_classes
    from noiselimit.noise.base import ClassNoise

    if (data is None) == (classes is None):
        raise InputError("give either --data or --classes.")
    noises = {text: parse_noise(text) for text in several("noise", noise)}
    if data is None:
        class_names = _class_names(str(classes))
        if needy := [text for text, each in noises.items() if not isinstance(each, ClassNoise)]:
            raise InputError(f"noise '{needy[0]}' needs data: give --data instead of --classes.")
        place = f"{len(class_names)} classes"
        found = {text: preview_classes(class_names, each) for text, each in noises.items()}
    else:
        data_set = load_data(data, **source.arguments(), reading=reading)
        print_notes(data_set.notes)
        place = f"{data_set.name}, seed {seed}"
        found = {text: preview(data_set.examples, each, seed) for text, each in noises.items()}
    if as_json:
        print_json([_as_json(text, result) for text, result in found.items()])
        return
    for position, (text, result) in enumerate(found.items()):
        if position:
            print()
        print_preview(f"{text} on {place}", result)


def _class_names(text: str) -> list[str]:
    """'3' → ['0', '1', '2']; 'cat,dog' → ['cat', 'dog']."""
    names = several("classes", text)
    if len(names) == 1 and names[0].isdecimal() and int(names[0]) <= 10_000:
        names = [str(number) for number in range(int(names[0]))]
    if not 1 < len(names) == len(set(names)):
        raise InputError(f"classes is '{text}': give 2 to 10000, or different names with commas.")
    return names


def _as_json(text: str, result: "Preview") -> dict[str, Any]:
    return {
        "noise": text,
        "class_names": list(result.class_names),
        "counts": None if result.counts is None else result.counts.tolist(),
        "rates": result.rates.tolist(),
        "expected_rates": None if result.expected is None else result.expected.tolist(),
        "wrong": result.wrong,
        "expected_wrong": result.expected_wrong,
        "wrong_by_class": result.wrong_by_class.tolist(),
        "bits": result.bits,
        "bits_are_estimated": result.bits_are_estimated,
    }


def print_preview(title: str, result: "Preview") -> None:
    """Print the transition matrix in percent, the share of wrong labels and the bits."""
    from rich.text import Text

    heading = Text(title, style="bold")
    if not result.clean_is_known:
        print_all(heading, "labels stay as they are; --clean-label would show how many are wrong")
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
    columns, rows = ["", *heads, "wrong"], []
    for row, name in enumerate(result.class_names):
        label = name if heads[row] == name else f"{heads[row]} {name}"
        rates = ["·" if rate < SMALLEST else _number(rate) for rate in result.rates[row]]
        rows.append([label, *rates, _number(result.wrong_by_class[row])])
    if result.counts is not None:
        columns.insert(1, "examples")
        for cells, count in zip(rows, result.counts.sum(1), strict=True):
            cells.insert(1, f"{count:,}")
    return plain_table(columns, rows, left=1)


def _largest(result: "Preview") -> "Table":
    changes = [
        (rate, f"{result.class_names[row]} → {result.class_names[column]}")
        for row, rates in enumerate(result.rates)
        for column, rate in enumerate(rates)
        if row != column and rate >= SMALLEST
    ]
    largest = sorted(changes, key=lambda each: -each[0])[:LARGEST]
    return plain_table(["", ""], [(change, _number(rate)) for rate, change in largest], left=1)


def _summary(result: "Preview") -> "Table":
    if result.counts is None:
        wrong = f"{percent(result.expected_wrong)}, if classes are equally frequent"
    else:
        expected = "" if result.expected_wrong is None else f", expected {percent(result.expected_wrong)}"
        wrong = f"{percent(result.wrong)} of {result.counts.sum():,} examples{expected}"
    bits = f"{result.bits:.3f} bits per label, of {math.log2(len(result.class_names)):.3f} possible"
    rows = [("wrong labels", wrong), ("H(y|x)", bits)]
    if result.bits_are_estimated:
        rows.append(("", "estimated from the matrix above, because only one draw of these labels is known"))
    return plain_table(["", ""], rows, left=2)


def _number(rate: float) -> str:
    return NONE if math.isnan(rate) else f"{100 * rate:.1f}"
