"""What the peers train, by our engine, so that tools differ and not engines."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.bench.detection.cohort import train_together
from noiselimit.bench.detection.folds import FOLDS, fold_splits
from noiselimit.bench.detection.how import How
from noiselimit.bench.detection.threshold import add_class, threshold_sets
from noiselimit.bench.detection.watches import make_held_out, make_margins
from noiselimit.cohort.prepare import prepare
from noiselimit.data.examples import DataSet
from noiselimit.split import Split

Arrays = Mapping[str, npt.NDArray[Any]]


def cross_validate(data: DataSet, seed: int, how: How) -> Arrays:
    """`last`, `averaged` and `stopped` [n, C]: held-out probabilities after the last epoch, their mean over
    the second half of the epochs, and those after that epoch of each fold in which it predicted its held-out
    given labels best."""
    specs = [how.spec(data, seed * FOLDS + fold) for fold in range(FOLDS)]
    splits = fold_splits(data.examples.labels, seed)
    shape = len(data.examples), data.examples.classes
    found = {name: np.empty(shape, np.float32) for name in ("last", "averaged", "stopped")}
    epochs = np.zeros(FOLDS, np.int64)
    for fold, row in enumerate(train_together(specs, splits, data, how, make_held_out)):
        apart = splits[fold].validation
        found["last"][apart], found["averaged"][apart] = row.watched.numpy()
        found["stopped"][apart] = row.best["validation"].classifier.numpy()
        epochs[fold] = row.best_epoch
    return {**found, "best_epochs": epochs}


def train_plainly(data: DataSet, seed: int, how: How) -> Arrays:
    """`last` and `stopped` [n, C] of one run that keeps the audit's validation part apart."""
    spec = how.spec(data, seed)
    split = prepare(spec, data).split
    (row,) = train_together([spec], [split], data, how, make_held_out)
    shape = len(data.examples), data.examples.classes
    last, stopped = np.empty(shape, np.float32), np.empty(shape, np.float32)
    assert row.last is not None
    last[split.train], last[split.validation] = row.last.classifier.numpy(), row.watched[0].numpy()
    for name, part in (("train", split.train), ("validation", split.validation)):
        stopped[part] = row.best[name].classifier.numpy()
    return {"last": last, "stopped": stopped, "best_epochs": np.array([row.best_epoch])}


def watch_margins(data: DataSet, seed: int, how: How) -> Arrays:
    """`margins` [E, n] of every epoch of one run on all examples."""
    (row,) = train_together([how.spec(data, seed)], [_everything(data)], data, how, make_margins)
    return {"margins": row.watched.numpy()}


def find_threshold(data: DataSet, seed: int, how: How) -> Arrays:
    """`margins` [2, E, n] of two runs in which some examples, `sets` [2, n], have a class of their own."""
    sets = threshold_sets(len(data.examples), data.examples.classes, seed)
    more, labels = add_class(data, sets)
    specs = [how.spec(more, 2 * seed + number) for number in range(2)]
    rows = train_together(specs, [_everything(data)] * 2, more, how, make_margins, labels)
    return {"margins": np.stack([row.watched.numpy() for row in rows]), "sets": sets}


def _everything(data: DataSet) -> Split:
    """All examples train. Two validate, since some have to; nobody looks."""
    everything = np.arange(len(data.examples))
    return Split(everything, everything[:2], np.empty(0, np.int64))
