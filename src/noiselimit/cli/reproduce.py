"""noiselimit reproduce NAME: the paper's tables and figures, run anew."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from noiselimit.cli.interrupted import Interrupted
from noiselimit.cli.options import DataDir, Device, Download, Json, Quiet, names, numbers
from noiselimit.errors import InputError, unknown

Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder of the results. [default: results/reproduce; runs/reproduce-quick with --quick]",
    ),
]
Bench = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="How fast the device is. [default: the bench file beside --out]"),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Small data and few epochs: shows that it works, minutes on a CPU.")
]
Seeds = Annotated[str | None, numbers("Splits to run. [default: as many as the paper, from 0 on]")]
COMMANDS = ("list", "merge")
"""What may follow `reproduce`, and is no table or figure."""


class NamedCommands(TyperGroup):
    """A word that is no command is the name of what to run."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = args[0] in self.commands
        return super().resolve_command(ctx, args if known else ["run", *args])


reproduce = typer.Typer(rich_markup_mode=None)


@reproduce.callback(invoke_without_command=True)
def _reproduce(context: typer.Context) -> None:
    """Run the paper's tables and figures beside its own numbers.

    'noiselimit reproduce list' names them, 'noiselimit reproduce NAME' runs one.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@reproduce.command("list")
def list_(
    seeds: Seeds = None,
    device: Device = "auto",
    out: Out = None,
    bench: Bench = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Print what can be run, how long it takes and what is done."""
    import json
    from dataclasses import asdict

    from noiselimit.cli.reproduce_tables import print_states
    from noiselimit.cli.values import several_seeds
    from noiselimit.reproduce.states import all_states

    place = out or _usual_place(quick)
    chosen = None if seeds is None else several_seeds("seeds", seeds)
    states, speed = all_states(place, device, chosen, bench, quick=quick)
    if as_json:
        print(json.dumps([asdict(state) for state in states], indent=2))
    else:
        print_states(states, speed)


@reproduce.command()
def merge(
    places: Annotated[
        list[Path], typer.Argument(metavar="PLACE...", help="Folders or files of results made elsewhere.")
    ],
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Add results that were made elsewhere to those that are here."""
    import json

    from noiselimit.reproduce.merging.all import merge_results

    target = out or _usual_place(quick=False)
    added = merge_results(places, target)
    if as_json:
        print(json.dumps(added, indent=2))
    else:
        for name, count in added.items():
            print(f"{target / name}: {count} added.")
        if not any(added.values()):
            print("Nothing was added.")


@reproduce.command()
def run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A table or a figure, see 'reproduce list'.")],
    seeds: Seeds = None,
    methods: Annotated[str | None, names("Methods of the table. [default: all]")] = None,
    cells: Annotated[
        str | None,
        names("Problems of the table, such as uniform:0.8/10000, pair:0.4 or uniform. [default: all]"),
    ] = None,
    values: Annotated[
        str | None, names("Values of the grids, such as beta=10,beta=30. [default: all]")
    ] = None,
    epochs: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="At most so many, such as for a first screen; CE parents keep the paper's."
        ),
    ] = None,
    finalists: Annotated[
        str | None,
        typer.Option(metavar="N", help="Only the N best values of each grid, by results so far."),
    ] = None,
    budget_minutes: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="Stop in time, the most telling runs first; call again to go on. 0: only draw and print.",
        ),
    ] = None,
    data_dir: DataDir = None,
    download: Download = False,
    device: Device = "auto",
    threads: Annotated[str | None, typer.Option(metavar="N", help="On a CPU. [default: all cores]")] = None,
    out: Out = None,
    runs: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for what is being trained, to go on from.")
    ] = Path("runs/reproduce"),
    bench: Bench = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Train nothing: print what would be trained, in order.")
    ] = False,
    quick: Quick = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a table or a figure, or go on with it.

    Every run that ends is a row of a file in --out at once; what is there is not run again.
    """
    from noiselimit.cli.reproduce_answer import answer
    from noiselimit.cli.values import any_number, several, several_seeds, whole_number
    from noiselimit.reproduce.wanted import Wanted

    _require_name(name)
    wanted = Wanted(
        name=name,
        seeds=None if seeds is None else several_seeds("seeds", seeds),
        methods=None if methods is None else several("methods", methods),
        problems=None if cells is None else several("cells", cells),
        values=None if values is None else several("values", values),
        epochs=whole_number("epochs", epochs),
        finalists=whole_number("finalists", finalists),
        budget_minutes=any_number("budget_minutes", budget_minutes),
        data_dir=data_dir,
        download=download,
        device=device,
        threads=whole_number("threads", threads),
        out=out or _usual_place(quick),
        runs=runs,
        bench=bench,
        quick=quick,
    )
    try:
        raise typer.Exit(answer(wanted, plan=plan, as_json=as_json, quiet=quiet))
    except KeyboardInterrupt:
        raise Interrupted("finished runs are kept, and the same command goes on") from None


def _require_name(name: str) -> None:
    from noiselimit.reproduce.figures.registry import FIGURES
    from noiselimit.reproduce.studies import STUDIES

    if name in COMMANDS:
        raise InputError(f"'{name}' is no table or figure: type 'noiselimit reproduce {name}'.")
    if name not in STUDIES and name not in FIGURES:
        raise unknown("table, figure or command", name, [*STUDIES, *FIGURES, *COMMANDS])


def _usual_place(quick: bool) -> Path:
    return Path("runs/reproduce-quick") if quick else Path("results/reproduce")
