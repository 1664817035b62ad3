"""noiselimit apply."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noiselimit.cli.options import Json, Overwrite, parse_path, path_option
from noiselimit.cli.tables import plain_table, print_all, print_json
from noiselimit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Audit = Annotated[Path, typer.Argument(metavar="AUDIT", help="The folder of an audit.", parser=parse_path)]
MovedData = Annotated[Path | None, path_option("DATA", "Where the audited data are now, if they moved.")]
ConflictsOption = Annotated[
    str,
    typer.Option(
        "--conflicts", metavar="NAME", help="Decision to use if reviewers disagree: last or majority."
    ),
]


def apply(
    audit: Audit,
    to: Annotated[
        Path | None,
        path_option(
            "DEST", "File to write; for a folder, a new folder or, for pictures, a .csv list of paths."
        ),
    ] = None,
    decisions: Annotated[
        Path | None,
        path_option("FILE", "Decisions from elsewhere: .csv, .parquet, .jsonl or Label Studio's .json."),
    ] = None,
    fix: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Treatment of flagged rows without a decision: drop or relabel."),
    ] = None,
    conflicts: ConflictsOption = "last",
    data: MovedData = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would change; write nothing.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write a corrected copy of the audited data.

    Applies the decisions of the review; everything else stays as it is. Nothing is trained, and the data
    themselves never change.
    """
    from noiselimit.audit.fixes import write_copy
    from noiselimit.audit.folder import open_audit

    if to is None and not dry_run:
        raise InputError("the destination is missing: name it with --to, or use --dry-run.")
    saved = open_audit(audit, data)
    changes = saved.changes(decisions, fix=fix, conflicts=conflicts)
    done = None if dry_run or to is None else write_copy(saved, to, changes, overwrite=overwrite)
    counts = {action: int((changes["action"] == action).sum()) for action in ("relabel", "drop")}
    if as_json:
        listed = changes.astype(object).where(changes.notna(), None).to_dict("records")
        print_json({"to": None if done is None else str(to), "written": done, "changes": listed})
        return
    if dry_run:
        _print_changes(changes)
    relabelled, dropped = f"{counts['relabel']:,} relabelled", f"{counts['drop']:,} dropped"
    if done is None:
        print(f"{relabelled}, {dropped}; nothing was written")
    else:
        print(f"{to}: {done['rows']:,} rows, {relabelled}, {dropped}; {saved.origin.source} did not change")


def _print_changes(changes: "pd.DataFrame") -> None:
    """One line per row that changes."""
    place = "path" if "path" in changes else "row"
    shown = changes.astype(object).where(changes.notna(), "–")
    new = shown["label"].where(changes["action"] == "relabel", "(dropped)")
    rows = zip(shown[place].map(str), shown["given_label"], new, strict=True)
    print_all(plain_table([place, "given", "new"], rows, left=3))
