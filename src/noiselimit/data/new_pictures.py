"""Pictures that nobody has put into class folders: any below a folder, or one file, for a run to judge."""

from pathlib import Path

import numpy as np

from noiselimit.data.class_folders import ENDINGS, Listing, list_pictures
from noiselimit.data.decoding import Cut
from noiselimit.data.image_folder import Measured, decode, measure, must_be_streamed
from noiselimit.data.lazy import Inputs
from noiselimit.data.paths import Paths
from noiselimit.data.pictures import PictureFiles
from noiselimit.data.reading import PICTURES, Reading
from noiselimit.errors import InputError


def read_new_pictures(
    place: Path, shape: tuple[int, ...], resize: int | None, reading: Reading, *, test: bool = False
) -> tuple[Inputs, Paths, tuple[str, ...]]:
    """(inputs [n, *shape], their names, notes): of one file, or of all pictures below a folder, by name.

    They are cut as those of the run's training were: their shorter side is scaled to `resize` if it was then.
    """
    reading.require_only(PICTURES, str(place))
    _require_pictures(place, shape, reading)
    folder, paths = _listed(place, test)
    measured = measure(folder, Listing(paths, np.zeros(len(paths), np.int64)), skip=reading.skip_bad_images)
    cut, notes = _cut_like(place, shape, resize or reading.resize, measured)
    files = PictureFiles(folder, measured.paths, cut)
    inputs, kept, damaged = decode(
        files, streamed=must_be_streamed(len(files), cut), skip=reading.skip_bad_images
    )
    bad = measured.bad + damaged
    return inputs, measured.paths.take(kept.tolist()), (*bad.notes(str(place)), *notes)


def _require_pictures(place: Path, shape: tuple[int, ...], reading: Reading) -> None:
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise InputError(
            f"{place}: the run was trained on inputs of shape {list(shape)}, which picture files do not "
            "give; give inputs as in its training."
        )
    if reading.resize is not None and (reading.resize,) * 2 != shape[1:]:
        raise InputError(
            f"--resize is {reading.resize}, but the run was trained on pictures of {shape[2]} × {shape[1]} "
            "pixels; leave it out, since new ones are brought to that size anyway."
        )


def _listed(place: Path, test: bool) -> tuple[Path, Paths]:
    if place.is_file():
        if test:
            raise InputError(f"{place}: a picture has no test part; leave out --test.")
        return place.parent, Paths([place.name])
    paths = list_pictures(place, test=test)
    if paths is None:
        raise InputError(f"{place}: there is no test part; leave out --test.")
    if not len(paths):
        raise InputError(
            f"{place}: there is no picture in it ({', '.join(ENDINGS)}); name a folder that has some."
        )
    return place, paths


def _cut_like(
    place: Path, shape: tuple[int, ...], resize: int | None, measured: Measured
) -> tuple[Cut, tuple[str, ...]]:
    """(the cut, notes); pictures of another size than a run has that scaled none are scaled with a note."""
    channels, height, width = shape
    if resize is not None:
        return Cut(height, width, resize, channels), ()
    others = (measured.sizes != (width, height)).any(1)
    if not others.any():
        return Cut(height, width, None, channels), ()
    if height != width:
        raise InputError(
            f"{place}: {measured.paths[int(np.argmax(others))]} does not have the {width} × {height} pixels "
            "that the run was trained on; bring it to that size."
        )
    return Cut(height, width, height, channels), (
        f"{place}: {others.sum()} of {len(others)} pictures do not have the {width} × {height} pixels that "
        "the run was trained on; they were scaled by their shorter side, and the middle was taken.",
    )
