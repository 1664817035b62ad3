"""Whether data can be audited at all, and what should be known before their labels are judged."""

import dataclasses

import numpy as np

from noiselimit.data.examples import DataSet
from noiselimit.data.missing_labels import is_labelled
from noiselimit.errors import InputError

FEWEST_EACH = 10
"""Examples for each class, on average, below which labels are taken for identifiers."""
SHOWN = 3
"""Classes that are named in a note."""


def check_data(data: DataSet, *, many_classes: bool = False) -> DataSet:
    """The data with notes on what cannot be judged; an error where the labels are hardly classes.

    `many_classes` is for those who know that there are few examples for each class.
    """
    examples = data.examples
    labelled = int(is_labelled(examples).sum())
    if not many_classes and examples.classes > 2 and examples.classes * FEWEST_EACH > labelled:
        other = "give other labels" if data.table is None else "name another column with --label"
        raise InputError(
            f"{data.name}: there are {examples.classes} classes for {labelled} labels, which looks like an "
            f"identifier; {other}, or say --many-classes (many_classes=True) if these are classes."
        )
    notes = [note for note in (single_examples(data),) if note is not None and note not in data.notes]
    return dataclasses.replace(data, notes=(*data.notes, *notes)) if notes else data


def single_examples(data: DataSet) -> str | None:
    """A note on the classes of which there is one example: it is judged, but no other speaks for its label.

    It is not left out, because such a class may well be a slip of the hand, and that should be found.
    """
    labels = data.examples.labels
    counts = np.bincount(labels[labels >= 0], minlength=data.examples.classes)
    alone = np.flatnonzero(counts == 1)
    if not len(alone):
        return None
    shown = ", ".join(
        f"'{data.examples.class_names[number]}' in row {int(np.argmax(labels == number))}"
        for number in alone[:SHOWN]
    )
    which = "1 class has" if len(alone) == 1 else f"{len(alone)} classes have"
    more = ", …" if len(alone) > SHOWN else ""
    return (
        f"{data.name}: {which} a single example ({shown}{more}), for whose label no other can speak; look at "
        "it yourself."
    )
