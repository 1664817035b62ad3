"""noiselimit decisions."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.apply import Audit, ConflictsOption
from noiselimit.cli.options import Json, Overwrite, parse_path, path_option
from noiselimit.cli.tables import print_json
from noiselimit.errors import InputError


def decisions(
    audit: Audit,
    to: Annotated[
        Path | None,
        path_option("FILE", "Export to a .csv, .parquet, .jsonl or .json file, or a folder for datasets."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", parser=parse_path, help="Import decisions made elsewhere."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="csv, parquet, jsonl, label-studio, coco or datasets. [default: by the ending]",
        ),
    ] = None,
    flagged: Annotated[
        bool, typer.Option("--flagged", help="Also export flagged rows without a decision.")
    ] = False,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Reviewer of imported decisions without a name.")
    ] = "",
    conflicts: ConflictsOption = "last",
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Count, export or import the decisions of a review.

    Without --to and --from, prints how many rows were decided.
    """
    from noiselimit.audit.decision_files import export_decisions, import_decisions
    from noiselimit.audit.folder import open_audit

    if to is not None and source is not None:
        raise InputError("--to exports and --from imports: use one at a time.")
    saved = open_audit(audit)
    if to is not None:
        rows = export_decisions(
            saved, to, format=format, conflicts=conflicts, flagged=flagged, overwrite=overwrite
        )
        answer, sentence = {"file": str(to), "rows": rows}, f"{to}: {rows:,} rows"
    elif source is not None:
        rows = import_decisions(saved, source, format=format, reviewer=name)
        answer, sentence = {"file": str(source), "rows": rows}, f"{rows:,} decisions imported into {audit}"
    else:
        made = saved.decisions(conflicts)
        counts = {str(action): int(count) for action, count in made["action"].value_counts().items()}
        answer = {"decided": len(made), **counts, "conflicts": int(made["conflict"].sum())}
        sentence = ", ".join(f"{count:,} {what}" for what, count in answer.items())
    print_json(answer) if as_json else print(sentence)
