"""noiselimit bench detection."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.interrupted import telling
from noiselimit.cli.options import DataDir, Device, Graphs, Json, Kernels, Quiet, names, numbers
from noiselimit.locks import file_lock


def detection(
    data: Annotated[
        str,
        names(
            "Data sets in memory, by name or path; also breast_cancer, wine, overlapping, clouds and shapes."
        ),
    ] = "digits,mnist",
    noise: Annotated[
        str | None,
        names("As in training, and next:P: a label becomes the next class. [default: by the data]"),
    ] = None,
    seed: Annotated[str, numbers("Each gives a row of its own.")] = "0,1,2",
    examples: Annotated[
        int | None,
        typer.Option(metavar="N", help="Take so many of the data. [default: all; 10000 of mnist]"),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Of every training. [default: what an audit of the data takes]"),
    ] = None,
    network: Annotated[str, typer.Option(metavar="NAME", help="Of every tool.")] = "auto",
    data_dir: DataDir = None,
    device: Device = "auto",
    threads: Annotated[int | None, typer.Option(metavar="N", help="On a CPU. [default: all cores]")] = None,
    kernels: Kernels = "auto",
    graphs: Graphs = "auto",
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="JSON file for every row; one that is there is gone on with.")
    ] = Path("detection.json"),
    save_probabilities: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep probabilities, so that cleanlab can be asked elsewhere."),
    ] = None,
    score: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Train nothing: ask cleanlab about probabilities kept there."),
    ] = None,
    without: Annotated[
        str | None,
        names("Trainings to leave out: folds, plain, margins, threshold, default or fast."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: shows that it works, not who is best.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare who finds wrong labels best.

    Our audit, cleanlab on five-fold cross-validation, AUM and plain loss train the same network on the same
    labels, one after another. Clean labels are known and measure, no tool sees them.
    """
    import json

    from noiselimit.bench.detection.comparison import compare_detection
    from noiselimit.bench.detection.how import How
    from noiselimit.bench.detection.probabilities import score_saved
    from noiselimit.bench.detection.wanted import QUICK_EPOCHS, Wanted, chosen_problems
    from noiselimit.cli.bench_news import bench_news
    from noiselimit.cli.detection_tables import print_detection
    from noiselimit.cli.values import several, whole_numbers

    if score is not None:
        content = score_saved(score, out)
    else:
        problems = chosen_problems(
            several("data", data),
            None if noise is None else several("noise", noise),
            whole_numbers("seed", seed),
            examples,
            None if data_dir is None else str(data_dir),
            quick=quick,
        )
        how = How(
            QUICK_EPOCHS if quick and epochs is None else epochs, network, device, threads, kernels, graphs
        )
        left_out = () if without is None else tuple(several("without", without))
        wanted = Wanted(problems, how, quick, left_out)
        with telling(lambda: _kept(out)), file_lock(out), bench_news(quiet) as tell:
            content = compare_detection(wanted, out, save_probabilities, tell)
    if as_json:
        print(json.dumps(content, indent=2))
    else:
        print_detection(content, out)
    if any(row["failures"] for row in content["rows"]):
        raise typer.Exit(1)


def _kept(out: Path) -> str:
    if not out.exists():
        return "no row is done yet, and the same command starts anew"
    return "rows that are done are kept, and the same command goes on"
