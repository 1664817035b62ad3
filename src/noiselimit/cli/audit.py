"""noiselimit audit."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.config import read_config
from noiselimit.cli.options import (
    Checkpoints,
    CleanLabel,
    DataDir,
    Device,
    Download,
    Graphs,
    Ignore,
    Json,
    Kernels,
    Label,
    Quiet,
    Resize,
    SkipBadImages,
    Weight,
    numbers,
)


def audit(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Class folders of pictures; a .csv, .tsv, .parquet or .npz file; or a named data set.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder to write. [default: audit- and the name of the data]"),
    ] = None,
    label: Label = None,
    clean_label: CleanLabel = None,
    weight: Weight = None,
    ignore: Ignore = None,
    data_dir: DataDir = None,
    download: Download = False,
    resize: Resize = None,
    skip_bad_images: SkipBadImages = False,
    many_classes: Annotated[
        bool, typer.Option("--many-classes", help="There really are fewer than ten examples a class.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Train one β and one seed: half the time, a little less found.")
    ] = False,
    expect_noise: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Flag this share of the labels, the worst.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(metavar="N", help="Flag the N worst labels: as many as you can review.")
    ] = None,
    min_quality: Annotated[
        float | None, typer.Option(metavar="Q", help="Flag every label of lower quality, in [0, 1].")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a cleaned copy as well; of pictures, a CSV of paths."),
    ] = None,
    fix: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What the copy does with flagged rows: drop or relabel. [default: drop]"
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an older audit and an older cleaned copy.")
    ] = False,
    noise: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="To try it out: first make labels wrong, as in uniform:0.2."),
    ] = None,
    beta: Annotated[str | None, numbers("Weight of the gradient penalty. [default: by network]")] = None,
    seed: Annotated[str | None, numbers("A training for each; more are steadier. [default: 0]")] = None,
    epochs: Annotated[
        str | None, typer.Option(metavar="N", help="Passes over the data. [default: by their number]")
    ] = None,
    batch_size: Annotated[
        str | None, typer.Option(metavar="N", help="Examples per step. [default: by their number]")
    ] = None,
    learning_rate: Annotated[
        str | None, typer.Option(metavar="N", help="Learning rate of both networks. [default: 0.001]")
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Such as small-cnn or resnet-18, or package.module:factory. [default: auto]"
        ),
    ] = None,
    device: Device = "auto",
    threads: Annotated[
        int | None, typer.Option(metavar="N", help="CPU threads. [default: all cores]")
    ] = None,
    kernels: Kernels = "auto",
    graphs: Graphs = "auto",
    checkpoints: Checkpoints = "auto",
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
    """Find the wrong labels in anybody's data.

    Trains on the data, wrong labels and all, says how many labels are wrong, and writes a table of all
    examples with the suspicious ones flagged, the probabilities that it rests on, and a page to look at. The
    data are never changed.
    """
    import json

    from noiselimit.audit.sensible import check_data
    from noiselimit.audit.train import audit_data
    from noiselimit.checkpoints.interval import parse_interval
    from noiselimit.cli.audit_answer import make_answer, words
    from noiselimit.cli.audit_data import training_part, with_noise
    from noiselimit.cli.audit_files import write_copy, write_folder
    from noiselimit.cli.audit_places import check_places, usual_folder
    from noiselimit.cli.audit_settings import make_plan, make_steering
    from noiselimit.cli.audit_text import print_answer, print_failures, print_places
    from noiselimit.cli.audit_unfinished import begin_to_write, has_begun_to_write, unfinished_folder
    from noiselimit.cli.news import download_news, print_notes, training_news
    from noiselimit.cli.values import columns
    from noiselimit.cohort.device import find_device
    from noiselimit.cohort.pace import find_pace
    from noiselimit.data.reading import Reading
    from noiselimit.data.sources import load_data
    from noiselimit.data.table_header import require_label
    from noiselimit.errors import InputError
    from noiselimit.noise import parse_noise

    # What is typed wrong, and places that cannot be written to, are told before anything large is read.
    folder = usual_folder(data) if out is None else out
    plan = make_plan(
        fast,
        beta=beta,
        seed=seed,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        network=network,
    )
    steering, asked = make_steering(expect_noise, budget, min_quality)
    added = None if noise is None else parse_noise(noise)
    if added is not None and write is not None:
        raise InputError("--noise makes labels wrong that --write would copy: leave out one of them.")
    require_label(Path(data), label)  # before its folder: that may be of the same command, typed right
    overwrite = overwrite or has_begun_to_write(folder, context.params)
    check_places(data, folder, write, fix, overwrite=overwrite)
    find_pace(kernels, graphs, find_device(device))  # says what is not there
    parse_interval(checkpoints)
    left_out = columns("--ignore", ignore)
    reading = Reading(
        label, clean_label, weight, resize, skip_bad_images, keep_unlabelled=True, ignore=left_out
    )
    with unfinished_folder(folder) as unfinished:
        examined = training_part(load_data(data, data_dir, download, download_news(quiet), reading))
        if noise is not None and added is not None:
            examined = with_noise(examined, noise, added, plan.seeds[0])
        examined = check_data(examined, many_classes=many_classes)
        print_notes(examined)
        with training_news(quiet) as progress:
            found, judged = audit_data(
                examined,
                plan,
                steering,
                many_classes=many_classes,
                out=unfinished,
                device=device,
                threads=threads,
                kernels=kernels,
                graphs=graphs,
                checkpoints=checkpoints,
                progress=progress,
            )
        begin_to_write(unfinished, context.params)
        written = write_folder(folder, found, judged, examined, asked, overwrite=overwrite)
        answer = make_answer(found, judged, examined)
        print_failures(answer)
        if not as_json:
            print_answer(answer, words(found, examined, asked))
        cleaned = None
        if write is not None:
            if as_json and found.silent:  # it is refused, but what was found is told all the same
                print(json.dumps({**answer, **written, "cleaned": None}, indent=2))
            cleaned = write_copy(Path(data), write, fix, found, examined, label, overwrite=overwrite)
    if as_json:
        print(json.dumps({**answer, **written, "cleaned": cleaned}, indent=2))
    else:
        print_places(written, cleaned)
    return 1 if any(run.failed for run in judged.runs) else 0
