"""What runs say of examples: the mean of classifier and predictor, averaged over epochs in training."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from noiselimit.audit.as_if_held_out import (
    as_if_held_out,
    elsewhere_of,
    is_memorised,
    moved,
    spread_alike,
)
from noiselimit.audit.quality import pieces
from noiselimit.exact import mean_probabilities
from noiselimit.hold_out import HeldOut
from noiselimit.runs.averaged import read_averaged
from noiselimit.runs.run import Averaged, Run

Probabilities = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Said:
    """What runs say together."""

    probabilities: Probabilities
    """[n, C]"""
    known_from: int
    """Examples that say how many labels are wrong: all, or where others were brought to the scale of those
    held out, only these."""
    unscaled: Probabilities | None = None
    """[n, C] as if nothing had been brought to that scale, where somebody wants to compare."""


def mean_said(
    runs: Sequence[Run], labels: Labels, held_out: Sequence[Labels], *, unscaled: bool = False
) -> Said:
    """The mean over runs that trained or validated on all examples with these labels [n].

    `held_out` has the rows that each run did not train on: what it says of the others is brought to their
    scale. In pieces: nothing as large is made beside it, but what is `unscaled` if that is asked for.
    """
    classes = len(runs[0].data.class_names)
    mean = np.zeros((len(labels), classes), np.float32)
    plain = np.zeros_like(mean) if unscaled else None
    scales: list[Labels] = []
    for run, apart in zip(runs, held_out, strict=True):
        averaged = averaged_of(run)
        assert averaged is not None
        elsewhere = np.empty(len(labels))
        for piece in pieces(len(labels), classes):
            elsewhere[piece] = elsewhere_of(said_of(averaged, piece), labels[piece])
        seen = np.setdiff1d(np.arange(len(labels)), apart)
        scaled = as_if_held_out(elsewhere, seen, apart)
        scales += [] if scaled is elsewhere else [apart]
        for piece in pieces(len(labels), classes):
            said = said_of(averaged, piece)
            if plain is not None:
                plain[piece] += said / len(runs)
            if scaled is not elsewhere:
                said = moved(said, labels[piece], scaled[piece])
            mean[piece] += said / len(runs)
    known_from = len(np.unique(np.concatenate(scales))) if scales else len(labels)
    return Said(mean, known_from, plain)


def said_of_all(
    runs: Sequence[Run], inputs: npt.NDArray[np.generic], labels: Labels, held: HeldOut, device: torch.device
) -> Said:
    """Of inputs [n, …] with these labels, by runs that trained on some of them. What they say of the others
    comes from their weights, and what they say of those is brought to its scale if these were memorised. That
    is judged by what the weights say of both: averages over other epochs are surer, or less sure, anyway."""
    said = np.asarray(mean_probabilities(runs, inputs, device), np.float32)
    by_weights = elsewhere_of(said, labels)
    said[held.trained] = mean_said(runs, labels[held.trained], [held.trained[:0]] * len(runs)).probabilities
    if not is_memorised(by_weights[held.trained], by_weights[held.validated]):
        return Said(said, len(labels))
    scaled = spread_alike(elsewhere_of(said, labels), held.trained, held.validated)
    return Said(moved(said, labels, scaled), len(held.validated))


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


def said_of(averaged: Averaged, rows: slice | Labels) -> Probabilities:
    """[rows, C]: both networks' mean, which finds wrong labels better than either alone."""
    if averaged.predictor is None:
        return averaged.classifier[rows]
    return np.asarray((averaged.classifier[rows] + averaged.predictor[rows]) / 2, np.float32)
