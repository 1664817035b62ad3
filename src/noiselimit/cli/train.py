"""noiselimit train."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.cli.errors import note_saved
from noiselimit.cli.options import (
    DATA,
    Cluster,
    Compute,
    Config,
    Json,
    Quiet,
    Source,
    parse_path,
    path_option,
    run_options,
    several,
    with_options,
)
from noiselimit.cli.tables import print_choice, print_json, print_runs
from noiselimit.data.reading import CACHE, Reading
from noiselimit.errors import InputError
from noiselimit.files import folder_lock, read_small_text, write_json
from noiselimit.progress import embedding_progress, print_notes, training_progress
from noiselimit.runs.spec import grid, refuse_idle

if TYPE_CHECKING:
    from noiselimit.data.examples import DataSet
    from noiselimit.runs.run import Run
    from noiselimit.training import Progress

FILE = ".command.json"
FORMAT = 1
_NOT_SAVED = {"config", "resume", "out", "as_json", "quiet", "download"}
"""Options that --resume does not restore: a file from another person must not name files to write."""
_CODE = ("method", "noise", "transition", "network", "predictor_network", "predictor_features", "features")
"""Options whose values may be dotted paths of code to import."""


def read_resume(context: typer.Context, folder: Path | None) -> Path | None:
    """Use the saved options of an interrupted training as defaults of the command."""
    if folder is None:
        return None
    from noiselimit.dotted import is_dotted

    saved, directory = _read_options(folder, {each.name for each in context.command.params if each.name})
    if directory != str(Path.cwd()):
        raise InputError(
            f"the training in {folder} was started in {directory}: use --resume there, or type the command "
            "again."
        )
    named = [value for name in _CODE if name in saved for value in several(name, str(saved[name]))]
    if any(is_dotted(value) or is_dotted(value.partition(":")[0]) for value in named):
        raise InputError(f"the training in {folder} imports your own code: type the command again.")
    context.default_map = {**(context.default_map or {}), **saved, "out": str(folder)}
    return folder


def _read_options(folder: Path, known: set[str]) -> tuple[dict[str, Any], str]:
    """The saved options, and the working folder of the command."""
    path = folder / FILE
    try:
        content = json.loads(read_small_text(path))
        saved, directory = dict(content["options"]), content["folder"]
        valid = content["format"] == FORMAT and saved.keys() <= known - _NOT_SAVED
        if valid and all(isinstance(value, str | int | float) for value in (directory, *saved.values())):
            return saved, str(directory)
    except FileNotFoundError:
        problem = "holds no unfinished training" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {problem}: give the --out folder of an interrupted training.") from None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        pass
    raise InputError(f"{path} is damaged or from another version: type the command again.")


def _save_options(folder: Path, options: Mapping[str, Any]) -> None:
    saved = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if value is not None and name not in _NOT_SAVED
    }
    with suppress(OSError, InputError):  # a full disk: the command can be typed again
        write_json(folder / FILE, {"format": FORMAT, "folder": str(Path.cwd()), "options": saved})


Data = Annotated[str, typer.Option("--data", metavar="DATA", help=DATA)]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        parser=parse_path,
        callback=read_resume,
        is_eager=True,
        help="Resume the interrupted training in this --out folder, with its options.",
    ),
]


@with_options(choices=run_options())
def train(
    context: typer.Context,
    *,
    data: Data,
    source: Source,
    reading: Reading,
    choices: dict[str, Any],
    out: Annotated[Path, path_option("FOLDER", "Folder for the run folders.")] = Path("runs"),
    compute: Compute,
    cluster: Cluster,
    logger: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Also log every epoch in OUT/logs: tensorboard, wandb, mlflow or csv; needs Lightning.",
        ),
    ] = None,
    config: Config = None,
    resume: Resume = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Train a grid of runs and mark the one that validation chooses.

    Options with dots take several values, separated by commas. Every combination becomes a run with its own
    folder. Runs that exist are not trained again, and runs that fit together train as one cohort. A star
    marks the setting with the best validation accuracy.
    """
    from noiselimit.engine.backend import find_device
    from noiselimit.engine.distributed import launched_processes, own_device
    from noiselimit.integrations.loggers import RunLogger
    from noiselimit.training import train as train_runs

    # Mistakes in options are reported before anything large is read.
    if config is not None and resume is not None:
        raise InputError("--resume restores all options of the training: leave out --config.")
    engine = cluster.make_engine()
    if engine is None:  # otherwise other machines train
        compute.check()
    log = None if logger is None else RunLogger(logger, out / "logs")
    refuse_idle(grid(**choices), choices)
    with launched_processes(find_device(own_device(compute.device))) as processes:
        first = processes.rank == 0
        with processes.in_turn():
            data_set = _load(data, reading, source, compute, out, quiet or not first, first)
        specs = grid(**{**data_set.defaults, **choices})
        train_all = partial(train_runs, specs, data_set, out=out, distributed=processes.count > 1)
        with note_saved(out), folder_lock(out) if first else nullcontext():
            if not first:
                return 1 if any(run.failed for run in train_all(**vars(compute))) else 0
            before = {spec.parent.name for spec in out.glob("*/spec.json")}
            with training_progress(quiet) as show:
                started = False

                def progress(latest: "Progress") -> None:
                    nonlocal started
                    if not started:  # nothing is written if the training is refused
                        _save_options(out, context.params)
                    started = True
                    show(latest)
                    if log is not None:
                        log(latest)

                with redirect_stdout(sys.stderr):  # to which Ray would write
                    runs = train_all(progress=progress, engine=engine, **vars(compute))
            (out / FILE).unlink(missing_ok=True)
            runs = list({run.spec.hash: run for run in runs}.values())  # some settings do not act everywhere
            _report(runs, data_set, before, out, as_json)
    return 1 if any(run.failed for run in runs) else 0


def _load(
    data: str, reading: Reading, source: Source, compute: Compute, out: Path, quiet: bool, notes: bool
) -> "DataSet":
    """The data, with images replaced by features if the user names some."""
    from noiselimit.data.catalogue import load_data

    reading, places = replace(reading, cache=out.resolve().parent / CACHE), source.arguments(quiet)
    features = None
    if reading.features not in ("auto", "none"):
        from noiselimit.features.pictures import PictureFeatures

        features = PictureFeatures(reading.features, device=compute.device, side=reading.resize)
        reading = replace(reading, features_side=features.side)
    with embedding_progress(quiet) as show:
        loaded = load_data(data, **places, reading=replace(reading, progress=show))
        print_notes(loaded.notes if notes else ())
        if features is None:
            return loaded
        return features.apply(loaded, cache=reading.cache, threads=compute.threads, progress=show)


def _report(runs: Sequence["Run"], data: "DataSet", before: set[str], out: Path, as_json: bool) -> None:
    """Write the page and print the result; `before` names the run folders that existed."""
    from noiselimit.report.html import write_report
    from noiselimit.report.runs import make_report, summary

    write_report(out / "report.html", make_report(f"Runs on {data.name}", runs, data))
    if as_json:
        print_json(summary(runs))
        return
    print_runs(runs)
    found = sum(run.path is not None and run.path.name in before for run in runs)
    if found:
        print(f"{found} of {len(runs)} runs existed and were not trained again.")
    for run in runs:
        if run.failed:
            print(f"failed: {run.path}: {run.metrics['failure']}.")
    parents = {run.spec.parent for run in runs} - {run.spec.hash for run in runs} - {None}
    if parents:
        print(f"{len(parents)} CE runs that others started from are in {out} as well.")
    print_choice(runs, out / "report.html")
