"""Which examples look alike, and the sentence that says why a label is in doubt. Made on demand."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from noiselimit.audit.quality import Floats, Labels
from noiselimit.data.arrays import Inputs, LazyInputs
from noiselimit.data.examples import DataSet
from noiselimit.features.cache import Features
from noiselimit.report.content import shorten

NEIGHBOURS = 12
POOLED = 16
"""Height and width to which pictures shrink when their pixels serve as features."""
DISTANCES = 2**24
"""Distances that are computed at a time."""
LONGEST_NAME = 40


def comparable_features(data: DataSet) -> Features:
    """Vectors [n, d] of the inputs whose distances say which examples look alike.

    These are pretrained features as they are, columns of a table with standardised numbers, or pixels of
    small pictures.
    """
    inputs = data.examples.inputs
    if inputs.ndim == 4:
        return _pooled(inputs)
    found = np.asarray(inputs, np.float32)
    if data.pictures is not None:
        return found
    numeric = np.ones(found.shape[1], bool) if data.table is None else data.table.is_numeric
    spread = np.where(numeric, found.std(0), 1.0)
    return np.asarray((found - found.mean(0)) / np.where(spread > 0, spread, 1.0), np.float32)


def _pooled(pictures: Inputs) -> Features:
    """Pixels [n, d] in [0, 1] of pictures [n, channels, height, width] after averaging to small squares."""
    rows = []
    edges = [np.unique(np.linspace(0, side, POOLED + 1).astype(int))[:-1] for side in pictures.shape[2:]]
    areas = [np.diff([*own, side]) for own, side in zip(edges, pictures.shape[2:], strict=True)]
    area = np.multiply.outer(*areas)
    for row in range(len(pictures)):
        picture: npt.NDArray[np.float32] = np.asarray(pictures[row], np.float32)
        rows.append((np.add.reduceat(np.add.reduceat(picture, edges[0], 1), edges[1], 2) / area).ravel())
    found = np.stack(rows)
    highest = 255.0 if isinstance(pictures, LazyInputs) else float(np.abs(found).max()) or 1.0
    return np.asarray(found / highest, np.float32)


def squared_norms(features: Features) -> Floats:
    """[n]"""
    return np.asarray(np.einsum("nd,nd->n", features, features))


def nearest(features: Features, squares: Floats, rows: Sequence[int] | Labels, most: int) -> Iterator[Labels]:
    """For each row, the nearest other examples by Euclidean distance, the nearest first.

    `squares` are the squared norms [n] of the features [n, d].
    """
    count = min(most, len(features) - 1)
    for part in np.array_split(rows, -(-len(rows) * len(features) // DISTANCES)) if len(rows) else ():
        distances = squares - 2 * (features[part] @ features.T)
        for row, distance in zip(part, distances, strict=True):
            distance[row] = np.inf
            found = np.argpartition(distance, count - 1)[:count]
            yield found[np.argsort(distance[found], kind="stable")]


def explain_value(
    names: Sequence[str],
    *,
    against: float = np.nan,
    models: int = 0,
    neighbours: Labels | Sequence[int] = (),
) -> str:
    """`explain` for regression: class numbers are in the order of the values that `names` hold."""
    parts = []
    if models > 1 and not np.isnan(against):
        parts.append(f"{against:.0f} of {models} models expect another value")
    labels = sorted(label for label in neighbours if label >= 0)
    if labels:
        low, high = names[labels[len(labels) // 4]], names[labels[-1 - len(labels) // 4]]
        parts.append(f"of its {len(labels)} nearest neighbours, half are from {low} to {high}")
    sentence = "; ".join(parts)
    return sentence and f"{sentence[0].upper()}{sentence[1:]}."


def explain(
    given: int,
    other: int,
    names: Sequence[str],
    *,
    against: float = np.nan,
    models: int = 0,
    neighbours: Labels | Sequence[int] = (),
) -> str:
    """Say why a label is in doubt, in a sentence of votes and neighbours.

    Parameters
    ----------
    given, other
        The given class number, −1 if there is none, and the suggested one.
    names
        The names of the classes.
    against, models
        How many of the models prefer another class than the given one; NaN if unknown.
    neighbours
        The given class numbers of the nearest examples, −1 where missing.

    Returns
    -------
    str
        Such as `4 of 5 models prefer another class; of its 12 nearest neighbours, 9 have the label 'dog' and
        2 'cat'.` Empty if nothing is known.
    """
    parts = []
    if models > 1 and not np.isnan(against):
        parts.append(f"{against:.0f} of {models} models prefer another class")
    labels = [label for label in neighbours if label >= 0]
    if labels:
        shown = [label for label in dict.fromkeys((other, given)) if label >= 0]
        have = " has the label" if labels.count(shown[0]) == 1 else " have the label"
        counts = [
            f"{labels.count(label)}{'' if place else have} '{shorten(names[label], LONGEST_NAME)}'"
            for place, label in enumerate(shown)
        ]
        parts.append(f"of its {len(labels)} nearest neighbours, {' and '.join(counts)}")
    sentence = "; ".join(parts)
    return sentence and f"{sentence[0].upper()}{sentence[1:]}."
