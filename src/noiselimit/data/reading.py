"""What a user may say about how files are to be read; each format says what of it concerns it."""

from collections.abc import Collection
from dataclasses import dataclass, fields

from noiselimit.errors import InputError

TABLES = frozenset({"label", "clean_label", "weight", "ignore"})
PICTURES = frozenset({"resize", "skip_bad_images"})
LARGEST_SIDE = 2048
"""In pixels: a batch of larger squares would fill the memory."""


@dataclass(frozen=True)
class Reading:
    """How to read data files. What it changes is content, so a run's hash covers it by the fingerprint."""

    label: str | None = None
    """Column of a table that holds the given labels; None: the column called 'label'."""
    clean_label: str | None = None
    """Column of a table that holds the clean labels, where these are known."""
    weight: str | None = None
    """Column of a table that says how much each example counts."""
    resize: int | None = None
    """Side in pixels to which pictures from files are brought."""
    skip_bad_images: bool = False
    """Leave out pictures that are missing or cannot be decoded, instead of refusing the data."""
    keep_unlabelled: bool = False
    """Keep rows without a label, with −1 for one, instead of refusing the data: for audits. Data in which
    no label can be missing, such as class folders, are read as ever."""
    ignore: tuple[str, ...] = ()
    """Columns of a table that are left out, such as row numbers or what was made from the label."""

    def __post_init__(self) -> None:
        if isinstance(self.ignore, str):  # whose letters would pass for columns
            raise InputError(f"ignore is {self.ignore!r}: give a list of names of columns.")
        object.__setattr__(self, "ignore", tuple(self.ignore))
        side = self.resize
        if side is not None and (type(side) is not int or not 1 <= side <= LARGEST_SIDE):
            raise InputError(f"--resize is {side}: give a whole number of pixels from 1 to {LARGEST_SIDE}.")

    def require_only(self, allowed: Collection[str], source: str) -> None:
        """An error where something is said that the format which takes the `allowed` would not heed."""
        for field in fields(self):
            if field.name == "keep_unlabelled":  # nothing is lost where it is not heeded
                continue
            if field.name not in allowed and getattr(self, field.name) != field.default:
                option = field.name.replace("_", "-")
                kind = "tables (CSV, Parquet)" if field.name in TABLES else "picture files (JPEG, PNG, …)"
                raise InputError(f"{source}: --{option} is for {kind}, which these are not; leave it out.")
