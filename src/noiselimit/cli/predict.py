"""noiselimit predict."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.options import DataDir, Download, Json, Resize, RunFolder, SkipBadImages, Trust


def predict(
    run: RunFolder,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Data set, picture, folder of them, .npz, .csv, .tsv or .parquet file; labels not needed.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write: .csv or .parquet.")] = Path(
        "predictions.csv"
    ),
    test: Annotated[bool, typer.Option("--test", help="Predict the data set's own test part.")] = False,
    data_dir: DataDir = None,
    download: Download = False,
    resize: Resize = None,
    skip_bad_images: SkipBadImages = False,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Write the classifier's prediction for every example.

    A row holds the example's index, the name of its file for pictures from files, the predicted label and
    class name, and the probability given to it.
    """
    import json
    import sys

    from noiselimit.cli.progress import download_news
    from noiselimit.data.catalogue import load_unlabelled
    from noiselimit.data.reading import Reading
    from noiselimit.errors import InputError
    from noiselimit.files import atomic_file, name_for_libraries
    from noiselimit.runs.folder import load_run
    from noiselimit.runs.run import prediction_table

    if out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"cannot write {out}: the name must end in .csv or .parquet.")
    loaded = load_run(run, trusted=trust)
    given = load_unlabelled(
        data,
        data_dir,
        download,
        download_news(),
        test=test,
        table=loaded.data.table,
        shape=loaded.data.input_shape,
        resize=loaded.data.resize,
        reading=Reading(resize=resize, skip_bad_images=skip_bad_images),
    )
    for note in given.notes:
        print(note, file=sys.stderr, flush=True)
    table = prediction_table(loaded, given.inputs, given.names)
    with atomic_file(out) as temporary:
        if out.suffix.lower() == ".csv":
            table.to_csv(temporary, index=False)
        else:
            with name_for_libraries(temporary, create=True) as known:
                table.to_parquet(known, index=False)
    if as_json:
        print(json.dumps({"predictions": str(out), "examples": len(table)}))
    else:
        print(f"{len(table)} predictions written to {out}")
