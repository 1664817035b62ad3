"""What runs say of examples: the mean of classifier and predictor, averaged over epochs in training."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from noiselimit.audit.quality import pieces
from noiselimit.exact import mean_probabilities
from noiselimit.runs.averaged import read_averaged
from noiselimit.runs.run import Averaged, Run

Probabilities = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


def mean_said(runs: Sequence[Run], examples: int, classes: int) -> Probabilities:
    """[examples, classes]: the mean over runs that trained or validated on all of these examples.

    In pieces: nothing as large is made beside it.
    """
    mean = np.zeros((examples, classes), np.float32)
    for run in runs:
        averaged = averaged_of(run)
        assert averaged is not None
        for piece in pieces(examples, classes):
            mean[piece] += _said(averaged, piece) / len(runs)
    return mean


def said_of_all(
    runs: Sequence[Run], inputs: npt.NDArray[np.generic], trained: Labels, device: torch.device
) -> Probabilities:
    """[n, classes] of inputs [n, …] by runs that trained on rows `trained`; of others by their weights."""
    rest = np.setdiff1d(np.arange(len(inputs)), trained)
    classes = len(runs[0].data.class_names)
    said = np.empty((len(inputs), classes), np.float32)
    said[trained] = mean_said(runs, len(trained), classes)
    said[rest] = mean_probabilities(runs, inputs[rest], device)
    return said


def accuracy_said(run: Run, labels: Labels, rows: Labels) -> float | None:
    """Share of these rows whose given label is the class that the run thinks likeliest; None if it failed."""
    averaged = averaged_of(run)
    if averaged is None:
        return None
    right = 0
    for piece in pieces(len(rows), averaged.classifier.shape[1]):
        some = rows[piece]
        right += int((_said(averaged, some).argmax(1) == labels[some]).sum())
    return right / len(rows)


def averaged_of(run: Run) -> Averaged | None:
    """What the run averaged, read from its folder without the run's keeping it; None if it failed."""
    if run.failed:
        return None
    if run.in_memory is not None:
        return run.in_memory.averaged
    return None if run.path is None else read_averaged(run.place)


def without_averages(run: Run) -> Run:
    """The run with less to hold: of many examples and classes, averages are by far the largest part of it."""
    if run.in_memory is None:
        return run
    return dataclasses.replace(run, in_memory=dataclasses.replace(run.in_memory, averaged=None))


def _said(averaged: Averaged, rows: slice | Labels) -> Probabilities:
    """[rows, C]: both networks' mean, which finds wrong labels better than either alone."""
    if averaged.predictor is None:
        return averaged.classifier[rows]
    return np.asarray((averaged.classifier[rows] + averaged.predictor[rows]) / 2, np.float32)
