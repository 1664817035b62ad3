"""noiselimit predict."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.options import (
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
from noiselimit.progress import download_progress, print_notes


@with_options(reading=field_options(Reading, "resize", "skip_bad_images"))
def predict(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run folder, a folder of runs or the folder of an audit."),
    ],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Data set, image, folder of images, .npz, .csv, .tsv or .parquet file; labels not needed.",
        ),
    ],
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
    probability and that of every class, and the identifiers and texts of a table. Of a folder of runs, the
    setting with the star predicts; of an audit, the runs that it averaged.
    """
    from noiselimit.data.catalogue import load_unlabelled
    from noiselimit.files import atomic_file
    from noiselimit.runs.folder import load_chosen
    from noiselimit.runs.run import prediction_table

    if out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"cannot write {out}: the name must end in .csv or .parquet.")
    if out.exists() and Path(data).exists() and out.samefile(data):
        raise InputError(f"{out} is the data, which are never changed: name another file with --out.")
    check_target(out, overwrite=overwrite)
    runs = load_chosen(run, trusted=trust)
    known, embedding = runs[0].data, runs[0].data.embedding
    side = None if embedding is None else embedding.side
    given = load_unlabelled(
        data,
        source.data_dir,
        source.download,
        download_progress(),
        test=test,
        table=known.table,
        shape=known.input_shape if side is None else (3, side, side),
        resize=known.resize or side,
        reading=reading,
    )
    print_notes(given.notes)
    table = prediction_table(runs, given.inputs, given.names).assign(**given.kept)
    with atomic_file(out) as temporary:
        if out.suffix.lower() == ".csv":
            table.to_csv(temporary, index=False)
        else:
            table.to_parquet(temporary, index=False)
    if as_json:
        print_json({"predictions": str(out), "examples": len(table)})
    else:
        count = "1 prediction" if len(table) == 1 else f"{len(table):,} predictions"
        print(f"{count} written to {out}")
