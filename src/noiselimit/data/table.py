"""How the columns of a table become features."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """The encoding of a table's rows, fitted once and applied to new rows alike."""
