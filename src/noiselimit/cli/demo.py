"""noiselimit demo."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.options import Device, Json, Quiet, numbers


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for run folders, summary.json and report.html.")
    ] = Path("demo"),
    seed: Annotated[str, numbers("Seed, or several: 0,1,2.")] = "0",
    device: Device = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare LIMIT with cross-entropy on digits, 40 % mislabelled.

    Takes about half a minute and needs no download.
    """
    import json

    from noiselimit.cli.interrupted import telling
    from noiselimit.cli.kept_runs import kept_runs
    from noiselimit.cli.news import training_news
    from noiselimit.cli.tables import print_choice, print_runs
    from noiselimit.cli.values import whole_numbers
    from noiselimit.demo import run_demo
    from noiselimit.run_report import summary

    seeds = whole_numbers("seed", seed)
    with telling(lambda: kept_runs(out)), training_news(quiet) as progress:
        runs = run_demo(out, seeds, device=device, progress=progress)
    if as_json:
        print(json.dumps(summary(runs), indent=2))
        return
    print("scikit-learn's digits, 40 % of the training and validation labels wrong, the test labels clean:")
    print_runs(runs, folders=False)
    print_choice(runs, out / "report.html")
