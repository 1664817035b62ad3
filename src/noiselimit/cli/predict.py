"""noiselimit predict."""

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.cli.options import (
    DATA,
    Json,
    Overwrite,
    Source,
    check_target,
    field_options,
    path_option,
    with_options,
)
from noiselimit.cli.tables import print_json
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError
from noiselimit.progress import print_notes

if TYPE_CHECKING:
    import pandas as pd

    from noiselimit.runs.run import Run

Runs = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder, a folder of runs or the folder of an audit.")
]
Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help=f"{DATA} Also image files. Labels are not needed.",
    ),
]


@with_options(reading=field_options(Reading, "resize", "skip_bad_images"))
def predict(
    run: Runs,
    data: Data,
    *,
    out: Annotated[Path, path_option("FILE", "File to write: .csv or .parquet.")] = Path("predictions.csv"),
    overwrite: Overwrite = False,
    test: Annotated[bool, typer.Option("--test", help="Predict the data set's own test part.")] = False,
    source: Source,
    reading: Reading,
    trust: Annotated[
        bool, typer.Option("--trust", help="Import the network that the run names by dotted path.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the classifier's prediction for every example.

    A row holds the example's index, the file name of an image, the predicted label and class name, its
    probability and that of every class, and the identifiers and texts of a table. If you name several DATA,
    the first column names the file. If RUN is a folder of runs, the setting with the star is used; if it is
    an audit, the mean over its runs.
    """
    import pandas as pd

    from noiselimit.files import atomic_file
    from noiselimit.runs.folder import load_chosen

    names = matching(data)
    check_out(out, names, overwrite=overwrite)
    runs = load_chosen(run, trusted=trust)
    tables = {name: _predict(runs, name, test, reading, source.arguments()) for name in names}
    table = tables[names[0]]
    if len(tables) > 1:
        table = pd.concat(tables, names=["file", None]).reset_index("file")
    with atomic_file(out) as temporary:
        if out.suffix.lower() == ".csv":
            table.to_csv(temporary, index=False)
        else:
            table.to_parquet(temporary, index=False)
    if as_json:
        print_json({"predictions": str(out), "examples": len(table)})
    else:
        print(f"{len(table):,} prediction{'' if len(table) == 1 else 's'} written to {out}")


def matching(data: list[str]) -> list[str]:
    """The data as named, and the files that match a quoted pattern such as 'new/*.csv'."""
    names: list[str] = []
    for each in data:
        files = [] if Path(each).exists() else sorted(glob.glob(each))
        names += files or [each]
    return list(dict.fromkeys(names))


def check_out(out: Path, names: list[str], *, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or that is one of the data."""
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"cannot write {out}: the name must end in .csv or .parquet.")
    if out.exists() and any(Path(name).exists() and out.samefile(name) for name in names):
        raise InputError(f"{out} is the data, which are never changed: name another file with --out.")
    check_target(out, overwrite=overwrite)


def _predict(
    runs: "list[Run]", name: str, test: bool, reading: Reading, source: dict[str, Any]
) -> "pd.DataFrame":
    """The predictions for one of the data."""
    from noiselimit.data.catalogue import load_unlabelled
    from noiselimit.runs.run import prediction_table

    known, embedding = runs[0].data, runs[0].data.embedding
    side = None if embedding is None else embedding.side
    given = load_unlabelled(
        name,
        **source,
        test=test,
        table=known.table,
        shape=known.input_shape if side is None else (3, side, side),
        resize=known.resize or side,
        reading=reading,
    )
    print_notes(given.notes)
    return prediction_table(runs, given.inputs, given.names).assign(**given.kept)
