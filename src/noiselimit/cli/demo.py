"""noiselimit demo."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noiselimit.cli.options import Compute, Json, Quiet, field_options, path_option, several, with_options

if TYPE_CHECKING:
    from noiselimit.runs.run import Run
    from noiselimit.runs.spec import RunSpec
    from noiselimit.training import Progress

NOISE = "uniform:0.4"
BETAS = (3.0, 10.0, 30.0)
EPOCHS = 40


def demo_specs(seeds: Sequence[int | str], epochs: int = EPOCHS) -> "list[RunSpec]":
    """Return specs of cross-entropy, LIMIT-L and LIMIT-G that train as one cohort."""
    from noiselimit.runs.spec import grid

    methods = ["ce", "limit-l", "limit-g"]
    return grid(method=methods, beta=list(BETAS), seed=list(seeds), noise=NOISE, epochs=epochs, batch_size=64)


def run_demo(
    out: Path,
    seeds: Sequence[int | str] = (0,),
    epochs: int = EPOCHS,
    device: str = "auto",
    progress: "Callable[[Progress], None] | None" = None,
) -> "list[Run]":
    """Train, and write run folders, summary.json and report.html into `out`."""
    from noiselimit.data.mnist import digits
    from noiselimit.files import folder_lock, write_json
    from noiselimit.report.html import write_report
    from noiselimit.report.runs import make_report, summary
    from noiselimit.training import train

    data, specs = digits(), demo_specs(seeds, epochs)
    with folder_lock(out):
        runs = train(specs, data, out=out, device=device, progress=progress)
        write_json(out / "summary.json", summary(runs))
        write_report(out / "report.html", make_report("Digits with 40 % wrong labels", runs, data))
    return runs


@with_options(compute=field_options(Compute, "device"))
def demo(
    *,
    out: Annotated[
        Path, path_option("FOLDER", "Folder for run folders, summary.json and report.html.")
    ] = Path("demo"),
    seed: Annotated[str, typer.Option(metavar="N,...", help="Seed, or several: 0,1,2.")] = "0",
    compute: Compute,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare LIMIT with cross-entropy on digits, 40 % mislabelled.

    Takes about half a minute and needs no download.
    """
    from noiselimit.cli.progress import training_progress
    from noiselimit.cli.tables import print_choice, print_runs
    from noiselimit.report.runs import summary

    with training_progress(quiet) as progress:
        runs = run_demo(out, several("seed", seed), device=compute.device, progress=progress)
    if as_json:
        print(json.dumps(summary(runs), indent=2))
        return
    print("scikit-learn's digits, 40 % of the training and validation labels wrong, test labels clean:")
    print_runs(runs, folders=False)
    print_choice(runs, out / "report.html")
