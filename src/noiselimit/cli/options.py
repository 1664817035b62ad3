"""Command-line options that are generated from dataclass fields, and options that commands share."""

import csv
import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from noiselimit.audit.plan import AuditPlan
from noiselimit.cli.errors import read_config
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError, unknown
from noiselimit.fields import option
from noiselimit.methods import METHODS
from noiselimit.progress import print_notes
from noiselimit.runs.spec import RunSpec

if TYPE_CHECKING:
    from noiselimit.integrations.tasks import Engine


def parse_path(text: str | Path) -> Path:
    """Refuse an empty path, which Python takes for the working folder: a shell variable is probably unset."""
    if not str(text):
        raise InputError("the path is empty: name a file or folder.")
    return Path(text)


def path_option(metavar: str, help: str) -> Any:
    """Return an option that names a file or folder."""
    return typer.Option(metavar=metavar, help=help, parser=parse_path)


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse to replace a file unless that was asked for; call it before anything large is read."""
    if path.is_file() and not overwrite:
        raise InputError(f"{path} exists: name another file with --out, or use --overwrite.")


DATA = (
    "A folder of images, or of idx, Parquet or tar files; a .csv, .tsv, .parquet or .npz file; or digits, "
    "mnist, cifar10, cifar100, cifar10n or clothing1m."
)
"""Help text of an option or argument that names data."""
PREFIX = "hyper_"
OTHERS = {"data", "out", "logger", "config", "resume", "json", "quiet", "help"}
"""Options of `train` that no dataclass has."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not show progress on stderr.")]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        parser=parse_path,
        callback=read_config,
        is_eager=True,
        help="TOML file with the same options; options on the command line override it.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]


@dataclass(frozen=True)
class Source:
    """Where named data sets come from."""

    data_dir: Path | None = option(
        None, "Folder of data sets such as mnist.", metavar="FOLDER", shown="the variable NOISELIMIT_DATA"
    )
    download: bool = option(False, "Download the data set if it is missing.")

    def arguments(self, quiet: bool = False) -> dict[str, Any]:
        """For `load_data`, with a function that names each file that is downloaded once."""
        named: set[str] = set()

        def progress(name: str, arrived: int) -> None:
            if not quiet and name not in named:
                named.add(name)
                print_notes([f"downloading {name}"])

        return {"data_dir": self.data_dir, "download": self.download, "progress": progress}


@dataclass(frozen=True)
class Compute:
    """How a training uses the machine; the arguments of `noiselimit.train`."""

    device: str = option("auto", "auto, cpu or cuda.", metavar="NAME")
    threads: int | None = option(None, "CPU threads.", metavar="N", shown="all cores")
    threads_per_block: int = option(
        1, "CPU threads that share a block of runs; above 1, the last digits of results vary.", metavar="N"
    )
    kernels: str = option("auto", "Custom GPU kernels: auto, on or off.", metavar="NAME")
    graphs: str = option("auto", "Record a training step as a CUDA graph: auto, on or off.", metavar="NAME")
    checkpoints: str = option(
        "auto",
        "Minimum time between checkpoints; auto costs less than 2 % of the time, off writes none.",
        metavar="SECONDS",
    )

    def check(self) -> None:
        """Raise InputError for a bad value; commands call this before they read anything large."""
        from noiselimit.engine.backend import check_threads, find_backend, find_device
        from noiselimit.engine.checkpoints import parse_interval

        find_backend(self.kernels, self.graphs, find_device(self.device))
        check_threads(self.threads, self.threads_per_block)
        parse_interval(self.checkpoints)


@dataclass(frozen=True)
class Cluster:
    """On which cluster to train, if any."""

    engine: str | None = option(
        None,
        "Train on a cluster that sees the run folders: ray or slurm.",
        metavar="NAME",
        shown="this machine",
    )
    address: str | None = option(
        None, "Ray cluster: auto or HOST:PORT.", metavar="ADDRESS", shown="start one here"
    )
    slurm: str | None = option(
        None, "Options of submitit, such as slurm_partition=gpu,timeout_min=240.", metavar="NAME=VALUE,..."
    )
    tasks: int | None = option(
        None, "Number of tasks to split the runs into.", metavar="N", shown="what fits on Ray, or 8", min=1
    )
    upload: str | None = option(
        None, "Also copy finished run folders to a URL, such as s3://bucket/runs.", metavar="URL"
    )

    def make_engine(self) -> "Engine | None":
        """The engine for `noiselimit.train`; raises InputError for a bad value."""
        own = {"address": "ray", "slurm": "slurm", "tasks": self.engine, "upload": self.engine}
        for name, engine in own.items():
            if getattr(self, name) is not None and (self.engine is None or self.engine != engine):
                raise InputError(f"{name} has no effect without --engine {engine or 'ray or slurm'}: add it.")
        if self.engine is None:
            return None
        from noiselimit.integrations.clusters import ENGINES, Ray, Slurm

        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        if self.engine == "ray":
            return Ray(address=self.address, tasks=self.tasks, upload=self.upload)
        pairs = [text.partition("=") for text in several("slurm", self.slurm)] if self.slurm else []
        options = {name: int(value) if value.isdecimal() else value for name, _, value in pairs}
        return Slurm(options=options, tasks=self.tasks, upload=self.upload)


@dataclass(frozen=True)
class Options:
    """Options that together give one argument of a command."""

    parameters: list[inspect.Parameter]
    build: Callable[..., Any]
    """Makes the argument from the values of the options."""


def with_options(**groups: Options) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace arguments that `groups` names, and those of a dataclass type, by their options."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command).parameters.values()
        found = {each.name: field_options(each.annotation) for each in own if is_dataclass(each.annotation)}
        found.update(groups)
        parameters: list[inspect.Parameter] = []
        for each in own:
            typed = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
            parameters += found[each.name].parameters if each.name in found else typed

        @wraps(command)
        def call(**typed: Any) -> Any:
            built = {
                name: group.build(**{each.name: typed.pop(each.name) for each in group.parameters})
                for name, group in found.items()
            }
            return command(**typed, **built)

        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
        call.__annotations__ = {}
        return call

    return decorate


def field_options(cls: Any, *names: str) -> Options:
    """Return the options of a dataclass, or those named only. Fields without a help text have none."""
    hints = get_type_hints(cls)
    parameters, lists = [], []
    for each in fields(cls):
        if "help" in each.metadata and (not names or each.name in names):
            kind, default = hints[each.name], each.default
            default = inspect.Parameter.empty if default is MISSING else default
            if isinstance(default, tuple):  # typed with commas
                lists.append(each.name)
                kind, default = str | None, None
            parameters.append(_parameter(each.name, kind, default, **each.metadata))

    def build(**typed: Any) -> Any:
        return cls(**{**typed, **{name: columns(f"--{name}", typed[name]) for name in lists}})

    return Options(parameters, build)


def run_options() -> Options:
    """Return the options of `RunSpec` and of the methods' hyper-parameters, each one value or several.

    They build the choices for `noiselimit.grid`.
    """
    parameters: list[inspect.Parameter] = []
    first = ["method", "noise", "hyper"]  # in --help and in the order of the runs
    for each in sorted(fields(RunSpec), key=lambda each: [*first, each.name].index(each.name)):
        if each.name == "hyper":
            parameters += _hyper_options()
        elif "help" in each.metadata:
            is_number = "whole" in each.metadata or "below" in each.metadata
            parameters.append(_text_option(each, "N,..." if is_number else "NAME,..."))

    def build(**typed: str | None) -> dict[str, list[str]]:
        given = {name.removeprefix(PREFIX): text for name, text in typed.items()}
        return {name: several(name, text) for name, text in given.items() if text is not None}

    return Options(parameters, build)


def plan_options() -> Options:
    """Return the options of an audit's plan; they build a dictionary of what was typed."""
    parameters = [_text_option(each, "NAME") for each in fields(AuditPlan) if "help" in each.metadata]

    def build(**typed: str | None) -> dict[str, str]:
        return {name: text for name, text in typed.items() if text is not None}

    return Options(parameters, build)


def _text_option(each: "Field[Any]", metavar: str) -> inspect.Parameter:
    """An option with the default None: a value that is not typed may come from the data's defaults."""
    default = None if each.default is MISSING else each.default
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    described = {"name": each.name, "metavar": metavar, "shown": shown, **each.metadata}
    return _parameter(described.pop("name"), str | None, None, **described)


def _hyper_options() -> list[inspect.Parameter]:
    """One option per hyper-parameter of any method, those of most methods first.

    Packages may name theirs as they like: `weight`, which is an option already, becomes --hyper-weight.
    """
    taken = {each.name for kind in (RunSpec, Reading, Source, Compute) for each in fields(kind)} | OTHERS
    known = METHODS.working()
    uses = Counter(name for method in known for name in method.hyper)
    found = []
    for name, _ in uses.most_common():
        methods = [method for method in known if name in method.hyper]
        help = next((method.help[name] for method in methods if name in method.help), "")
        usual = Counter(method.hyper[name] for method in methods).most_common(1)[0][0]
        others = [f"{each.name}: {each.hyper[name]:g}" for each in methods if each.hyper[name] != usual]
        shown = "; ".join([f"{usual:g}", *others])
        name = f"{PREFIX}{name}" if name in taken else name
        found.append(_parameter(name, str | None, None, help, metavar="N,...", shown=shown))
    return found


def _parameter(field: str, kind: Any, default: Any, help: str, **metadata: Any) -> inspect.Parameter:
    """The parameter of a command that fills the field; see `noiselimit.fields.option` for the metadata."""
    shown = metadata.get("shown")
    info = typer.Option(
        f"--{metadata.get('name', field).replace('_', '-')}",
        metavar=metadata.get("metavar"),
        help=f"{help} [default: {shown}]" if shown else help,
        parser=parse_path if kind in (Path, Path | None) else None,
        min=metadata.get("min"),
    )
    return inspect.Parameter(
        field, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def several(name: str, text: str) -> list[str]:
    """'1,10' → ['1', '10']."""
    values = [value.strip() for value in text.split(",")]
    if not all(values):
        raise InputError(f"{name} is '{text}': give a value, or several separated by commas.")
    return values


def columns(name: str, text: str | None) -> tuple[str, ...]:
    """'id,"name, first"' → ('id', 'name, first'); quoted as in a CSV file if a name has a comma."""
    if text is None:
        return ()
    try:
        found = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        found = []
    if not found or not all(found):
        raise InputError(f"{name} is '{text}': give a column's name, or several separated by commas.")
    return tuple(found)
