"""noiselimit train."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.cli.errors import read_config, refuse_two_files
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
    names,
    numbers,
    several,
)
from noiselimit.errors import InputError
from noiselimit.files import read_small_text, write_json


def kept_runs(out: Path) -> str:
    """What lies in the folder of runs, and what the same command makes of it."""
    from noiselimit.engine.checkpoint_file import FOLDER, Malformed, read_entries
    from noiselimit.errors import InputError

    finished = {spec.parent.name for spec in out.glob("*/spec.json")}
    epochs: dict[str, int] = {}
    for path in (out / FOLDER).glob("epoch-*.safetensors"):
        try:
            entries = read_entries(path)
        except (Malformed, InputError, OSError):
            continue
        for entry in entries.values():
            if entry.folder not in finished:
                epochs[entry.folder] = max(epochs.get(entry.folder, 0), entry.epoch)
    return in_words(len(finished), sorted(epochs.values()))


def in_words(finished: int, epochs: list[int]) -> str:
    """So many runs have ended; others, in order, have come to these epochs."""
    if not finished and not epochs:
        return "nothing is kept yet, and the same command starts anew"
    done = f"{finished} finished run{'' if finished == 1 else 's'}"
    others = ("run" if not finished else "other") + ("" if len(epochs) == 1 else "s")
    if not epochs:
        kept, many = done, finished > 1
    else:
        many = epochs[0] < epochs[-1]
        which = f"epochs {epochs[0]} to {epochs[-1]}" if many else f"epoch {epochs[0]}"
        begun = f"{which} of {len(epochs)} {others}"
        kept, many = (f"{done} and {begun}", True) if finished else (begun, many)
    return f"{kept} {'are' if many else 'is'} kept, and the same command goes on"


if TYPE_CHECKING:
    from noiselimit.training import Progress

FILE = ".command.json"
FORMAT = 1
_NOT_REMEMBERED = {"config", "resume", "out", "as_json", "quiet", "download"}
"""Options that a file in the folder, which may come from anybody, does not say: it names no other file of
options, no place to write to, and what was to be fetched was there when training began."""
_CODE = ("network", "predictor_network", "predictor_features")
"""Options whose values may be dotted paths, as `RunSpec` reads them."""


def read_resume(context: typer.Context, folder: Path | None) -> Path | None:
    """Make what was typed then the command's defaults, before any other option is looked at."""
    if folder is None:
        return None
    refuse_two_files(context)
    from noiselimit.networks.module import is_dotted

    if not (folder / FILE).is_file() and (folder.parent / FILE).is_file():
        folder = folder.parent  # a run's own folder was named
    path = folder / FILE
    try:
        content = json.loads(read_small_text(path))
        typed, where, written = content["options"], content["folder"], content["format"]
        known = {parameter.name for parameter in context.command.params} - _NOT_REMEMBERED
        fitting = written == FORMAT and typed.keys() <= known
        if not fitting or not all(isinstance(value, str | int | float) for value in (where, *typed.values())):
            raise ValueError
    except FileNotFoundError:
        raise InputError(
            f"{folder} holds no unfinished training: give the --out folder of one that was interrupted."
        ) from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"{path} cannot be read, or another version wrote it: type the command again."
        ) from None
    if where != str(Path.cwd()):
        raise InputError(
            f"the training in {folder} was started in {where}: call --resume from there or, if that was "
            "moved, type the command again."
        )
    if any(is_dotted(value) for name in _CODE if name in typed for value in several(name, str(typed[name]))):
        raise InputError(f"the training in {folder} uses code of somebody's: type the command again.")
    context.default_map = {**typed, "out": str(folder)}
    return folder


@contextmanager
def remembered(
    options: Mapping[str, Any], out: Path, progress: Callable[["Progress"], None]
) -> Iterator[Callable[["Progress"], None]]:
    """Yield a `progress` that notes the options in `out` once training has begun; they go with its end."""
    noted = False

    def hear(news: "Progress") -> None:
        nonlocal noted
        if not noted:
            noted = True
            with suppress(OSError, InputError):  # a full disk; the command can be typed again
                write_json(out / FILE, _content(options))
        progress(news)

    yield hear
    (out / FILE).unlink(missing_ok=True)


def _content(options: Mapping[str, Any]) -> dict[str, Any]:
    typed = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if value is not None and name not in _NOT_REMEMBERED
    }
    return {"format": FORMAT, "folder": str(Path.cwd()), "options": typed}


def train(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            metavar="DATA",
            help="digits, mnist, cifar10, cifar100, cifar10n, clothing1m; a folder of pictures or in idx "
            "format; a .csv, .parquet or .npz file.",
        ),
    ],
    data_dir: DataDir = None,
    download: Download = False,
    label: Label = None,
    clean_label: CleanLabel = None,
    weight: Weight = None,
    ignore: Ignore = None,
    resize: Resize = None,
    skip_bad_images: SkipBadImages = False,
    noise: Annotated[
        str | None, names("Such as uniform:0.4, pair:0.4 or given:worst; see docs/noise.md. [default: none]")
    ] = None,
    method: Annotated[
        str | None, names("Such as ce, limit-g or limit-l+s; see docs/methods.md. [default: limit-l]")
    ] = None,
    beta: Annotated[
        str | None, numbers("Weight of the gradient penalty. [default: 10; soft-penalty: 0.1]")
    ] = None,
    sigma: Annotated[
        str | None, numbers("Noise on gradients in +s methods, ce-gn and ce-ln. [default: 0.03]")
    ] = None,
    penalty: Annotated[str | None, numbers("λ of soft-penalty. [default: 0.01]")] = None,
    q: Annotated[str | None, numbers("Exponent of gce. [default: 0.7]")] = None,
    transition: Annotated[
        str | None,
        names("Matrix that fw corrects by, written as a noise. [default: estimated from the parent run]"),
    ] = None,
    seed: Annotated[str | None, numbers("Gives a run all its randomness. [default: 0]")] = None,
    network: Annotated[
        str | None, names("Such as small-cnn or resnet-34, or package.module:factory. [default: auto]")
    ] = None,
    predictor_network: Annotated[
        str | None, names("Network of the predictor. [default: that of the classifier]")
    ] = None,
    predictor_features: Annotated[
        str | None,
        names("package.module:factory of a frozen module that the predictor sees through. [default: none]"),
    ] = None,
    initial_weights: Annotated[
        str | None, names(".safetensors file that both networks start from. [default: fresh weights]")
    ] = None,
    dropout: Annotated[str | None, numbers("Share of hidden units left out of a step. [default: 0]")] = None,
    augmentation: Annotated[
        str | None, names("none, flip, crop or flip-crop; CIFAR and Clothing1M: flip-crop. [default: none]")
    ] = None,
    sampler: Annotated[
        str | None, names("shuffled, or balanced: classes equally often. [default: shuffled]")
    ] = None,
    epochs: Annotated[
        str | None, numbers("Passes over the data, at most; Clothing1M: 30. [default: 100]")
    ] = None,
    patience: Annotated[
        str | None, numbers("Stop after so many epochs without a better validation. [default: 100]")
    ] = None,
    batch_size: Annotated[str | None, numbers("Examples per step. [default: 256]")] = None,
    precision: Annotated[
        str | None,
        names("Of activations: float32, bfloat16 or auto, the shorter on a GPU that has it. [default: auto]"),
    ] = None,
    optimiser: Annotated[str | None, names("adam or sgd. [default: adam]")] = None,
    learning_rate: Annotated[str | None, numbers("Learning rate of both networks. [default: 0.001]")] = None,
    parent_learning_rate: Annotated[
        str | None,
        numbers("Of the CE run that fw, dmi and +init start from. [default: the run's own, for dmi 0.001]"),
    ] = None,
    parent_epochs: Annotated[
        str | None, numbers("Of that CE run, at most. [default: as many as the run's own]")
    ] = None,
    schedule: Annotated[str | None, names("constant or cosine. [default: constant]")] = None,
    weight_decay: Annotated[str | None, numbers("L2 penalty on the weights. [default: 0]")] = None,
    momentum: Annotated[str | None, numbers("Momentum of sgd. [default: 0.9]")] = None,
    train_size: Annotated[str | None, numbers("Train on so many examples. [default: all]")] = None,
    validation_share: Annotated[str | None, numbers("Share kept for validation. [default: 0.2]")] = None,
    validation_labels: Annotated[
        str | None, names("given, or clean where they are known: what chooses. [default: given]")
    ] = None,
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
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            callback=read_resume,
            is_eager=True,
            help="The --out of an interrupted training, which goes on with its options.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Train a grid of runs and mark the one that validation chooses.

    Options marked with dots take several values, separated by commas. Every combination becomes a run with
    its own folder, a run that exists is not trained again, and runs that can share one tensor program train
    as one cohort. At the end a star marks the setting that the validation labels choose.
    """
    import json

    from noiselimit.cli.options import columns, several
    from noiselimit.cli.progress import download_news, print_notes, training_news
    from noiselimit.cli.signals import telling
    from noiselimit.cli.tables import print_choice, print_runs
    from noiselimit.data.catalogue import load_data
    from noiselimit.data.reading import Reading
    from noiselimit.engine.checkpoints import parse_interval
    from noiselimit.files import folder_lock
    from noiselimit.report import write_report
    from noiselimit.report.runs import make_report, summary
    from noiselimit.runs.spec import grid, refuse_idle
    from noiselimit.training import train as train_runs

    typed = {
        "method": method,
        "noise": noise,
        "beta": beta,
        "sigma": sigma,
        "penalty": penalty,
        "q": q,
        "transition": transition,
        "seed": seed,
        "network": network,
        "predictor_network": predictor_network,
        "predictor_features": predictor_features,
        "initial_weights": initial_weights,
        "dropout": dropout,
        "augmentation": augmentation,
        "sampler": sampler,
        "epochs": epochs,
        "patience": patience,
        "batch_size": batch_size,
        "precision": precision,
        "optimiser": optimiser,
        "learning_rate": learning_rate,
        "parent_learning_rate": parent_learning_rate,
        "parent_epochs": parent_epochs,
        "schedule": schedule,
        "weight_decay": weight_decay,
        "momentum": momentum,
        "train_size": train_size,
        "validation_share": validation_share,
        "validation_labels": validation_labels,
        "test_share": test_share,
    }
    choices: dict[str, list[object]] = {
        name: list(several(name, text)) for name, text in typed.items() if text is not None
    }
    parse_interval(checkpoints)
    refuse_idle(grid(**choices), choices)  # what is typed wrong is said before anything large is read
    left_out = columns("--ignore", ignore)
    reading = Reading(label, clean_label, weight, resize, skip_bad_images, ignore=left_out)
    data_set = load_data(data, data_dir, download, download_news(quiet), reading)
    print_notes(data_set)
    specs = grid(**{**data_set.defaults, **choices})
    with telling(lambda: kept_runs(out)), folder_lock(out):
        there_before = {spec.parent.name for spec in out.glob("*/spec.json")}
        with training_news(quiet) as news, remembered(context.params, out, news) as progress:
            runs = train_runs(
                specs,
                data_set,
                out=out,
                device=device,
                threads=threads,
                threads_per_block=threads_per_block,
                kernels=kernels,
                graphs=graphs,
                checkpoints=checkpoints,
                progress=progress,
            )
        runs = list(
            {run.spec.hash: run for run in runs}.values()
        )  # specs that differ in idle settings are one run
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
        parents = {run.spec.parent for run in runs} - {run.spec.hash for run in runs} - {None}
        if parents:
            print(f"What others started from lies beside them in {out}: CE runs, {len(parents)} in all.")
        print_choice(runs, out / "report.html")
    return 1 if any(run.failed for run in runs) else 0
