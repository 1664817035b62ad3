"""noiselimit demo."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.errors import note_saved
from noiselimit.cli.options import Compute, Json, Quiet, field_options, path_option, several, with_options
from noiselimit.cli.tables import print_choice, print_json, print_runs
from noiselimit.files import folder_lock, write_json
from noiselimit.progress import training_progress

EPOCHS = 40


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
    from noiselimit.data.mnist import digits
    from noiselimit.report.html import write_report
    from noiselimit.report.runs import make_report, summary
    from noiselimit.runs.spec import grid
    from noiselimit.training import train

    data, methods, seeds = digits(), ["ce", "limit-l", "limit-g"], several("seed", seed)
    specs = grid(
        method=methods, beta=[3, 10, 30], seed=seeds, noise="uniform:0.4", epochs=EPOCHS, batch_size=64
    )
    with training_progress(quiet) as progress, folder_lock(out), note_saved(out):
        runs = train(specs, data, out=out, device=compute.device, progress=progress)
        write_json(out / "summary.json", summary(runs))
        write_report(out / "report.html", make_report("Digits with 40 % wrong labels", runs, data))
    if as_json:
        print_json(summary(runs))
        return
    print("scikit-learn's digits, 40 % of the training and validation labels wrong, test labels clean:")
    print_runs(runs, folders=False)
    print_choice(runs, out / "report.html")
