"""The inputs that a run is to predict for; nobody needs to have labelled them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from noiselimit.data.catalogue import DATA_SETS, FileFormat, Stored
from noiselimit.data.class_folders import ENDINGS
from noiselimit.data.download import Progress
from noiselimit.data.idx import holds_idx
from noiselimit.data.lazy import Inputs
from noiselimit.data.new_pictures import read_new_pictures
from noiselimit.data.reading import Reading
from noiselimit.data.sources import existing_path, format_of, load_data, nothing_to_download
from noiselimit.data.table import Table
from noiselimit.errors import InputError


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Inputs to predict for."""

    inputs: Inputs
    names: Sequence[str] | None = None
    """[n] what each is called where it came from: once bad pictures are skipped, numbers no longer tell."""
    notes: tuple[str, ...] = ()
    """What reading has to tell."""


def load_inputs(name_or_path: str | Path, data_dir: str | Path | None = None, **options: Any) -> Inputs:
    """The inputs [n, …] of `load_unlabelled`, which has the options."""
    return load_unlabelled(name_or_path, data_dir, **options).inputs


def load_unlabelled(
    name_or_path: str | Path,
    data_dir: str | Path | None = None,
    download: bool = False,
    progress: Progress | None = None,
    *,
    test: bool = False,
    table: Table | None = None,
    shape: tuple[int, ...] | None = None,
    resize: int | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> Unlabelled:
    """The inputs to predict for: those that `load_data` would train on, or the test part.

    Labels are neither needed nor read from a file, so one with inputs alone will do. The rest says what the
    run that is to predict knows of its inputs: how it encoded its `table`, if it had one; the `shape` of an
    input; the side to which pictures were scaled before the window was cut (`resize`). Where the shape is
    known, pictures are brought to it, and any folder of them will do, or a single one.
    """
    text = os.fspath(name_or_path)
    entry = DATA_SETS.get(text)
    if entry is None:
        if download:
            raise nothing_to_download(text)
        found = _from_path(text, test, table, shape, resize, reading)
        if found is not None:
            return found
    elif isinstance(entry, Stored) and "resize" in entry.takes and reading.resize is None and shape:
        reading = replace(reading, resize=shape[-1])
    data = load_data(text, data_dir, download, progress, reading)
    part = data.test if test else data.examples
    if part is None:
        raise InputError(f"{text}: there is no test part; leave out --test.")
    return Unlabelled(part.inputs, part.names, data.notes)


def _from_path(
    text: str,
    test: bool,
    table: Table | None,
    shape: tuple[int, ...] | None,
    resize: int | None,
    reading: Reading,
) -> Unlabelled | None:
    """What can be read without labels; None for a folder that is read as for training."""
    if text.lower().endswith(ENDINGS) and shape is not None and Path(text).is_file():
        path = Path(text)
    else:
        path = existing_path(text)
        found = format_of(path)
        if isinstance(found, FileFormat):
            reading.require_only((), text)
            return Unlabelled(found.read_inputs(path, test, table))
        if shape is None or holds_idx(path):
            return None
    return Unlabelled(*read_new_pictures(path, shape, resize, reading, test=test))
