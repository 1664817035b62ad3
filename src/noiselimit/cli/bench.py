"""noiselimit bench, and bench detection behind it."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.bench_comparison import show_comparison
from noiselimit.cli.bench_detection import detection
from noiselimit.cli.bench_interrupted import told_what_is_kept
from noiselimit.cli.options import Device, Graphs, Json, Kernels, Quiet, names

bench = typer.Typer(rich_markup_mode=None)
bench.command()(detection)


@bench.callback(invoke_without_command=True)
def _bench(
    context: typer.Context,
    device: Device = "auto",
    rows: Annotated[
        str | None, names("Rows to measure, or none. [default: those usual on the device]")
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Measure how cost grows as well: k, n, memory or all."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="JSON file for everything that was measured.")
    ] = Path("bench.json"),
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="A B", help="Measure nothing: compare two such files."),
    ] = None,
    precision: Annotated[
        str,
        typer.Option(metavar="NAME", help="auto, float32 or bfloat16: of activations."),
    ] = "auto",
    kernels: Kernels = "auto",
    graphs: Graphs = "auto",
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: shows that it works, not how fast.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how fast this machine trains.

    Says how close that comes to what its hardware allows. Needs no data.
    """
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    if compare is not None:
        show_comparison(compare, as_json, context)
        return
    with told_what_is_kept(out):
        import json

        from noiselimit.bench.measure import Wanted, run_bench
        from noiselimit.bench.result import check_target
        from noiselimit.bench.rows import chosen_rows
        from noiselimit.bench.sweeps import chosen_sweeps
        from noiselimit.bench.work import MNIST, Way
        from noiselimit.cli.bench_news import bench_news
        from noiselimit.cli.bench_tables import print_bench
        from noiselimit.cli.values import several
        from noiselimit.cohort.device import find_device
        from noiselimit.cohort.pace import find_pace
        from noiselimit.errors import InputError

        where = find_device(device)
        find_pace(kernels, graphs, where)  # says what is not there
        wanted = Wanted(
            where,
            tuple(chosen_rows(None if rows is None else several("rows", rows), where.type)),
            tuple(chosen_sweeps(sweep, where.type)),
            quick,
            Way(precision, kernels, graphs),
        )
        MNIST.specs(1, 1, precision=precision)  # says what is no precision
        if not wanted.rows and not wanted.sweeps:
            raise InputError("rows is 'none', so nothing would be measured: name a row or add --sweep.")
        check_target(out, quick=quick)
        with bench_news(quiet) as tell:
            content = run_bench(wanted, out, tell)
        if as_json:
            print(json.dumps(content, indent=2))
        else:
            print_bench(content, out)
        if any("failure" in entry for entry in [*content["rows"], *content["points"]]):
            raise typer.Exit(1)


def _refuse_options(context: typer.Context) -> None:
    """Say that options before the inner command are not its own, instead of forgetting them."""
    from noiselimit.errors import InputError

    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            inner = context.invoked_subcommand
            raise InputError(f"{parameter.opts[0]} stands before '{inner}': put it behind '{inner}'.")
