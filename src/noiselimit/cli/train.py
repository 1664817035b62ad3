"""noiselimit train."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.config import read_config
from noiselimit.cli.options import DataDir, Device, Download, Json, Quiet, names, numbers


def train(
    data: Annotated[
        str,
        typer.Option(
            "--data", metavar="DATA", help="digits, mnist, a folder in idx format, or an .npz file."
        ),
    ],
    data_dir: DataDir = None,
    download: Download = False,
    noise: Annotated[str | None, names("none, uniform:P or matrix:FILE. [default: none]")] = None,
    method: Annotated[str | None, names("Such as ce, limit-g or limit-l+s. [default: limit-l]")] = None,
    beta: Annotated[str | None, numbers("Weight of the gradient penalty. [default: 10]")] = None,
    sigma: Annotated[str | None, numbers("Noise on gradients in +s methods. [default: 0.03]")] = None,
    seed: Annotated[str | None, numbers("Gives a run all its randomness. [default: 0]")] = None,
    network: Annotated[
        str | None, names("auto, small-cnn, mnist-cnn, mlp or mlp-4x512. [default: auto]")
    ] = None,
    predictor_network: Annotated[
        str | None, names("Network of the predictor. [default: that of the classifier]")
    ] = None,
    epochs: Annotated[str | None, numbers("Passes over the data, at most. [default: 100]")] = None,
    patience: Annotated[
        str | None, numbers("Stop after so many epochs without a better validation. [default: 100]")
    ] = None,
    batch_size: Annotated[str | None, numbers("Examples per step. [default: 256]")] = None,
    optimiser: Annotated[str | None, names("adam or sgd. [default: adam]")] = None,
    learning_rate: Annotated[str | None, numbers("Learning rate of both networks. [default: 0.001]")] = None,
    schedule: Annotated[str | None, names("constant or cosine. [default: constant]")] = None,
    weight_decay: Annotated[str | None, numbers("L2 penalty on the weights. [default: 0]")] = None,
    momentum: Annotated[str | None, numbers("Momentum of sgd. [default: 0.9]")] = None,
    train_size: Annotated[str | None, numbers("Train on so many examples. [default: all]")] = None,
    validation_share: Annotated[str | None, numbers("Share kept for validation. [default: 0.2]")] = None,
    test_share: Annotated[
        str | None, numbers("Share kept for testing if the data have no test part. [default: 0.2]")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the run folders.")] = Path("runs"),
    device: Device = "auto",
    threads: Annotated[
        int | None, typer.Option(metavar="N", help="CPU threads. [default: all cores]")
    ] = None,
    threads_per_block: Annotated[
        int,
        typer.Option(metavar="N", help="CPU threads that share a block of rows; above 1, last digits vary."),
    ] = 1,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=read_config,
            is_eager=True,
            help="TOML file with the same options; flags win.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Train a grid of runs and mark the one that validation chooses.

    Options marked with dots take several values, separated by commas. Every combination becomes a run with
    its own folder, a run that exists is not trained again, and runs that can share one tensor program train
    as one cohort. At the end a star marks the setting that the noisy validation labels choose.
    """
    import json

    from noiselimit.cli.news import download_news, training_news
    from noiselimit.cli.tables import print_runs
    from noiselimit.cli.values import several
    from noiselimit.data.sources import load_data
    from noiselimit.noise import parse_noise
    from noiselimit.report import write_report
    from noiselimit.run_report import make_report, summary
    from noiselimit.spec import grid
    from noiselimit.training import train as train_runs

    typed = {
        "method": method,
        "noise": noise,
        "beta": beta,
        "sigma": sigma,
        "seed": seed,
        "network": network,
        "predictor_network": predictor_network,
        "epochs": epochs,
        "patience": patience,
        "batch_size": batch_size,
        "optimiser": optimiser,
        "learning_rate": learning_rate,
        "schedule": schedule,
        "weight_decay": weight_decay,
        "momentum": momentum,
        "train_size": train_size,
        "validation_share": validation_share,
        "test_share": test_share,
    }
    choices: dict[str, list[object]] = {
        name: list(several(name, text)) for name, text in typed.items() if text is not None
    }
    if "noise" in choices:
        choices["noise"] = [parse_noise(str(text)) for text in choices["noise"]]
    specs = grid(**choices)
    data_set = load_data(data, data_dir, download, download_news(quiet))
    there_before = {spec.parent.name for spec in out.glob("*/spec.json")}
    with training_news(quiet) as progress:
        runs = train_runs(
            specs,
            data_set,
            out=out,
            device=device,
            threads=threads,
            threads_per_block=threads_per_block,
            progress=progress,
        )
    write_report(out / "report.html", make_report(f"Runs on {data_set.name}", runs, data_set))
    if as_json:
        print(json.dumps(summary(runs), indent=2))
    else:
        print_runs(runs)
        found = sum(run.path is not None and run.path.name in there_before for run in runs)
        if found:
            print(f"{found} of {len(runs)} runs were there already and were not trained again.")
        for run in runs:
            if run.failed:
                print(f"failed: {run.path}: {run.metrics['failure']}.")
        print(f"★ chosen by noisy validation labels. Look at {out / 'report.html'}")
    return 1 if any(run.failed for run in runs) else 0
