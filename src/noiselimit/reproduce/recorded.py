"""Folders of runs whose rows are written already."""

from collections.abc import Sequence
from pathlib import Path

from noiselimit.errors import InputError
from noiselimit.reproduce.clearing import MARK
from noiselimit.reproduce.figures.kept import kept_file, read_kept
from noiselimit.reproduce.figures.values import FORMS
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.result import Places, make_row
from noiselimit.reproduce.rows import ResultRow, line_of, row_of, split_line
from noiselimit.reproduce.rows_file import read_rows, rows_path
from noiselimit.reproduce.studies import STUDIES
from noiselimit.reproduce.work import Task, all_tasks
from noiselimit.runs import Run, load_run

OUTCOME = ("precision", "epochs_run", "best_epoch", "validation_accuracy", "validation_loss", "test_accuracy")
"""By what a row is known to be that of the run in a folder, and not of one like it made elsewhere."""


def recorded_runs(
    runs: Path, tasks: Sequence[Task], protocol: Protocol, out: Path
) -> list[tuple[Run, ResultRow]]:
    """The runs in the folder `runs` that are not marked and have a row in `out`, with that row.

    Of the protocol's network: every run of the data set's table, or those of a figure's own `tasks`.
    """
    folders = [path.parent for path in sorted(runs.glob("*/spec.json"))]
    folders = [folder for folder in folders if not (folder / MARK).exists()]
    if not folders:
        return []
    of_table = protocol.network == protocol_for(protocol.data, quick=protocol.quick).network
    rows = read_rows(rows_path(out, protocol.data)) if of_table else _rows_of_figures(out)
    places = Places(all_tasks(STUDIES[protocol.data].cells, [0], protocol) if of_table else tasks)
    found = []
    for folder in folders:
        try:
            run = load_run(folder, trusted=True)
            # A figure's own settings, such as dropout, are known by its tasks alone.
            if run.spec.network != protocol.network or not (of_table or places.is_task(run.spec)):
                continue
            row = make_row(places.find(run.spec), run.spec, run.metrics, protocol, 0.0, "")
        except (InputError, KeyError):  # training says what is wrong with it; or it is none of ours
            continue
        found += [(run, own) for own in rows if _is_same(own, row)][-1:]
    return found


def _is_same(written: ResultRow, row: ResultRow) -> bool:
    if (written.key, written.epochs) != (row.key, row.epochs):
        return False
    row = row_of(split_line(line_of(row)))  # rounded as the other was
    return all(getattr(written, name) == getattr(row, name) for name in OUTCOME)


def _rows_of_figures(out: Path) -> list[ResultRow]:
    return [one.row for kind in FORMS for one in read_kept(kept_file(out, kind))]
