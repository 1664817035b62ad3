"""noiselimit show."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.cli.options import Json
from noiselimit.cli.tables import plain_table, print_all, print_json, print_runs

if TYPE_CHECKING:
    from noiselimit.runs.run import Run


def show(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, or folders of run folders.")
    ],
    as_json: Json = False,
) -> None:
    """Print one run in full, or several as a table."""
    from noiselimit.runs.folder import find_run_folders, load_run

    loaded = [load_run(folder) for path in runs for folder in find_run_folders(path)]
    if as_json:
        print_json([_as_json(run) for run in loaded])
    elif len(loaded) == 1:
        _print_one(loaded[0])
    else:
        print_runs(loaded)


def _as_json(run: "Run") -> dict[str, Any]:
    return {
        "folder": str(run.path),
        "spec": run.spec.to_json(),
        "data": run.data.to_json(),
        "metrics": dict(run.metrics),
        "history": [dict(record) for record in run.history],
    }


def _print_one(run: "Run") -> None:
    from rich.text import Text

    from noiselimit.report.runs import describe, readable

    assert run.path is not None
    facts = {**describe(run), **run.metrics}
    rows = [(name.replace("_", " "), readable(fact)) for name, fact in facts.items() if fact is not None]
    rows += [(file.name, f"{file.stat().st_size / 1000:.1f} kB") for file in sorted(run.path.iterdir())]
    print_all(Text(str(run.path), style="bold"), plain_table(["", ""], rows, left=2))
