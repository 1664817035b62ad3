"""noiselimit show."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.cli.options import Json

if TYPE_CHECKING:
    from noiselimit.runs import Run


def show(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, or folders of run folders.")
    ],
    as_json: Json = False,
) -> None:
    """Print what run folders hold: one run in full, several as a table."""
    import json

    from noiselimit.cli.tables import print_runs
    from noiselimit.runs import load_run

    loaded = [load_run(folder) for path in runs for folder in find_run_folders(path)]
    if as_json:
        print(json.dumps([_as_json(run) for run in loaded], indent=2))
    elif len(loaded) == 1:
        _print_one(loaded[0])
    else:
        print_runs(loaded)


def find_run_folders(path: Path) -> list[Path]:
    """The folder itself, or the run folders in it."""
    inside = sorted(spec.parent for spec in path.glob("[!.]*/spec.json"))
    return inside if inside and not (path / "spec.json").exists() else [path]


def _as_json(run: "Run") -> dict[str, Any]:
    return {
        "folder": str(run.path),
        "spec": run.spec.to_json(),
        "data": run.data.to_json(),
        "metrics": dict(run.metrics),
        "history": [dict(record) for record in run.history],
    }


def _print_one(run: "Run") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    described: dict[str, Any] = {**run.spec.to_json(), "data": run.data.name, **run.metrics}
    for name, value in described.items():
        if value is not None:
            table.add_row(name.replace("_", " "), _readable(value))
    console.print(f"[bold]{run.path}[/bold]")
    console.print(table)
    if run.path is not None:
        files = sorted(file for file in run.path.iterdir() if file.is_file())
        sizes = ", ".join(f"{file.name} ({file.stat().st_size / 1000:.1f} kB)" for file in files)
        console.print(f"files: {sizes}")


def _readable(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_readable(inner)}" for key, inner in value.items()) or "none"
    return str(value)
