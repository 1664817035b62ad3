"""noiselimit show."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.cli.options import Json

if TYPE_CHECKING:
    from noiselimit.runs.run import Run


def show(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, or folders of run folders.")
    ],
    as_json: Json = False,
) -> None:
    """Print what run folders hold: one run, or several as a table."""
    from noiselimit.cli.tables import print_runs
    from noiselimit.runs.folder import load_run

    loaded = [load_run(folder) for path in runs for folder in find_run_folders(path)]
    if as_json:
        print(json.dumps([_as_json(run) for run in loaded], indent=2))
    elif len(loaded) == 1:
        _print_one(loaded[0])
    else:
        print_runs(loaded)


def find_run_folders(path: Path) -> list[Path]:
    """Return the run folders in a folder, or the folder itself."""
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
    from rich.table import Table
    from rich.text import Text

    from noiselimit.cli.tables import print_all
    from noiselimit.report.runs import describe, readable

    assert run.path is not None
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in (describe(run) | dict(run.metrics)).items():
        if value is not None:
            table.add_row(name.replace("_", " "), readable(value))
    for file in sorted(run.path.iterdir()):
        table.add_row(file.name, f"{file.stat().st_size / 1000:.1f} kB")
    print_all(Text(str(run.path), style="bold"), table)
