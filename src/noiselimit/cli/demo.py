"""noiselimit demo."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.options import Device, Json, Quiet, numbers
from noiselimit.data.mnist import digits
from noiselimit.files import folder_lock, write_json
from noiselimit.report import write_report
from noiselimit.report.runs import make_report, summary
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import Progress, train

NOISE = "uniform:0.4"
BETAS = (3.0, 10.0, 30.0)
EPOCHS = 40


def demo_specs(seeds: Sequence[int], epochs: int = EPOCHS) -> list[RunSpec]:
    """Cross-entropy, LIMIT-L and LIMIT-G over a small grid of β; all can be rows of one cohort."""
    return grid(
        method=["ce", "limit-l", "limit-g"],
        beta=list(BETAS),
        seed=list(seeds),
        noise=NOISE,
        epochs=epochs,
        batch_size=64,
    )


def run_demo(
    out: Path,
    seeds: Sequence[int] = (0,),
    epochs: int = EPOCHS,
    device: str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> list[Run]:
    """Train, and write into `out` the run folders, summary.json and report.html."""
    data = digits()
    with folder_lock(out):
        runs = train(demo_specs(seeds, epochs), data, out=out, device=device, progress=progress)
        write_json(out / "summary.json", summary(runs))
        write_report(out / "report.html", make_report("Digits with 40 % wrong labels", runs, data))
    return runs


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

    from noiselimit.cli.options import whole_numbers
    from noiselimit.cli.progress import training_news
    from noiselimit.cli.signals import telling
    from noiselimit.cli.tables import print_choice, print_runs
    from noiselimit.cli.train import kept_runs
    from noiselimit.report.runs import summary

    seeds = whole_numbers("seed", seed)
    with telling(lambda: kept_runs(out)), training_news(quiet) as progress:
        runs = run_demo(out, seeds, device=device, progress=progress)
    if as_json:
        print(json.dumps(summary(runs), indent=2))
        return
    print("scikit-learn's digits, 40 % of the training and validation labels wrong, the test labels clean:")
    print_runs(runs, folders=False)
    print_choice(runs, out / "report.html")
