"""What a user may say about how files are to be read; formats take what concerns them."""

from dataclasses import dataclass


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
