"""How to read data files: the options that a user gives with a path."""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from noiselimit.errors import InputError, unknown
from noiselimit.fields import option

TABLE, PICTURE = "tables (CSV, Parquet)", "image files (JPEG, PNG, …)"
CACHE = ".noiselimit-features"
"""Folder for features beside the output of a command, shared by all outputs there."""
LARGEST_SIDE = 2048  # in pixels: a batch of larger squares would fill the memory
ALWAYS = 2**30  # bytes that any file may unpack to


@dataclass(frozen=True)
class Reading:
    """How to read data files; `source` says which kind of file an option is for.

    A run's hash covers the effect through the fingerprint of the data.
    """

    label: str | None = option(
        None, "Column of a table that holds the labels.", metavar="COLUMN", source=TABLE
    )
    clean_label: str | None = option(
        None, "Column with clean labels, for evaluation.", metavar="COLUMN", source=TABLE
    )
    weight: str | None = option(
        None, "Column with the weight of each example.", metavar="COLUMN", source=TABLE
    )
    resize: int | None = option(
        None,
        "Resize images so that the shorter side has this many pixels, then crop to a square.",
        metavar="PIXELS",
        source=PICTURE,
    )
    text: tuple[str, ...] = option(
        (), "Columns of free text, besides those that look like it.", metavar="COLUMN,...", source=TABLE
    )
    skip_bad_images: bool = option(False, "Skip images that cannot be read, and list them.", source=PICTURE)
    features: str = option(
        "auto",
        "Pretrained features of images (efficientnet-lite0, timm:NAME, transformers:NAME_OR_PATH) or text "
        "(wordllama, tf-idf, sentence-transformers:NAME_OR_PATH), your own package.module:function, auto or "
        "none.",
        metavar="NAME",
    )
    stream: str = option(
        "auto",
        "Keep a table's features in a file instead of in memory: on, off, or auto, if they would not fit.",
        metavar="NAME",
        source=TABLE,
    )
    features_side: int | None = None
    """Read colour pictures from files as frozen features need them: of this side, decoded on demand."""
    cache: Path | None = None
    """Folder for features."""
    progress: Callable[[int, int], None] | None = None
    """Called with the number of texts that are embedded, and that of all."""
    keep_unlabelled: bool = False
    """Keep rows without a label, with the label −1, instead of raising; for audits."""
    task: str = "classification"
    """What the labels are: also regression, or auto, to recognise it from the labels of a table."""
    ignore: tuple[str, ...] = option(
        (),
        "Columns to leave out, such as identifiers; see noiselimit docs data.",
        metavar="COLUMN,...",
        source=TABLE,
    )

    def __post_init__(self) -> None:
        for name in ("ignore", "text"):
            if isinstance(getattr(self, name), str):
                raise InputError(f"{name} is {getattr(self, name)!r}: give a list of column names.")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.stream not in ("auto", "on", "off"):
            raise unknown("stream", self.stream, ("auto", "on", "off"))
        side = self.resize
        if side is not None and (type(side) is not int or not 1 <= side <= LARGEST_SIDE):
            raise InputError(f"--resize is {side}: give a whole number of pixels from 1 to {LARGEST_SIDE}.")

    def require_only(self, allowed: Collection[str], source: str) -> None:
        """Raise InputError if an option is set that the format of `source` does not use."""
        for field in fields(self):
            if field.name in allowed or "source" not in field.metadata:  # of no kind: formats may ignore it
                continue
            if getattr(self, field.name) != field.default:
                flag, kind = field.name.replace("_", "-"), field.metadata["source"]
                raise InputError(f"{source}: --{flag} is for {kind}, which these data are not; leave it out.")


TABLES, PICTURES = (
    frozenset(field.name for field in fields(Reading) if field.metadata.get("source") == source)
    for source in (TABLE, PICTURE)
)


def require_modest(path: Path, declared: int) -> None:
    """Refuse a file that would unpack to over 1 GiB and over 100 times its size, before it is unpacked."""
    size = os.stat(path).st_size
    if declared > max(ALWAYS, 100 * size):
        growth = f"its {size:,} bytes would become {declared:,} in memory"
        raise InputError(f"{path}: {growth}; if that is no mistake, save the file without compression.")


@contextmanager
def readable(source: Path | str, remedy: str) -> Iterator[None]:
    """Turn any error in the block into an InputError: libraries raise nearly anything on damaged files."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{source}: cannot be read ({reason_of(error)}); {remedy}.") from None


def reason_of(error: Exception) -> str:
    """The first line of the message, to quote inside a sentence."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text.strip() or type(error).__name__).splitlines()[0][:150].rstrip(". ")
