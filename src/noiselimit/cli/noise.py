"""noiselimit noise."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.cli.options import (
    CleanLabel,
    DataDir,
    Download,
    Ignore,
    Json,
    Label,
    Resize,
    SkipBadImages,
    names,
)
from noiselimit.errors import InputError

if TYPE_CHECKING:
    from noiselimit.noise import Preview


def noise(
    noise: Annotated[str, names("Such as uniform:0.4, pair:0.4 or given:worst; see docs/noise.md.")],
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Data to try the noise on, as in noiselimit train.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(metavar="K", help="Instead of data: a number of classes, or their names with commas."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the run whose noise to see.")] = 0,
    data_dir: DataDir = None,
    download: Download = False,
    label: Label = None,
    clean_label: CleanLabel = None,
    ignore: Ignore = None,
    resize: Resize = None,
    skip_bad_images: SkipBadImages = False,
    as_json: Json = False,
) -> None:
    """Show what noise does to labels.

    Prints which labels become which, the share of wrong labels, and H(y|x): how many bits of a label the
    input does not tell. Nothing is trained. The same seed in noiselimit train gives the same labels.
    """
    import json

    from noiselimit.cli.news import download_news, print_notes
    from noiselimit.cli.noise_table import print_preview
    from noiselimit.cli.values import columns, several
    from noiselimit.data.reading import Reading
    from noiselimit.data.sources import load_data
    from noiselimit.noise import parse_noise, preview, preview_classes

    if (data is None) == (classes is None):
        raise InputError("noiselimit noise needs --data or --classes, and not both: give one of them.")
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
        reading = Reading(
            label,
            clean_label,
            resize=resize,
            skip_bad_images=skip_bad_images,
            ignore=columns("--ignore", ignore),
        )
        data_set = load_data(data, data_dir, download, download_news(), reading)
        print_notes(data_set)
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
    """None in place of NaN, which few readers of JSON accept."""
    if isinstance(value, list):
        return [_without_nan(inner) for inner in value]
    return None if value != value else value
