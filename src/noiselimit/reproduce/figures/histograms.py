"""Histograms of training examples with right and wrong labels: norm of the predicted gradient, and gap."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from noiselimit.data.examples import DataSet
from noiselimit.report.histogram import histogram_counts
from noiselimit.reproduce.figures import values
from noiselimit.reproduce.figures.gradients import gradient_norms
from noiselimit.reproduce.figures.kept import Kept
from noiselimit.reproduce.rows import ResultRow
from noiselimit.runs import Run

KIND = "histograms"
BINS = values.BINS
SPAN = (0.0, 2**0.5)

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Histograms:
    """Counts [2, BINS] over SPAN: of examples with right labels, and with wrong ones."""

    row: ResultRow
    norms: Counts
    gaps: Counts


def keep_histograms(row: ResultRow, run: Run, data: DataSet, device: torch.device) -> Kept:
    """The four histograms of the training part as text, 'norms right/norms wrong/gaps right/gaps wrong'."""
    outputs = run.outputs[run.outputs["part"] == "train"]
    wrong = (outputs["given_label"] != outputs["clean_label"]).to_numpy(bool)
    # Gaps as they were in training; norms are computed anew from the weights of the same epoch.
    inputs = np.asarray(data.examples.inputs)[outputs["index"].to_numpy(np.int64)]
    norms, gaps = gradient_norms(run, inputs, device), outputs["gap"].to_numpy(np.float64)
    parts = [
        histogram_counts(sizes[flags], BINS, SPAN) for sizes in (norms, gaps) for flags in (~wrong, wrong)
    ]
    return Kept(row, "/".join(" ".join(map(str, counts)) for counts in parts))


def read_histograms(kept: Kept) -> Histograms:
    """The inverse."""
    parts = [np.array(part.split(), np.int64) for part in kept.values.split("/")]
    return Histograms(kept.row, np.stack(parts[:2]), np.stack(parts[2:]))


def as_values(counts: Counts) -> npt.NDArray[np.float64]:
    """Values [n] that give these counts [BINS] again, each in the middle of its bin."""
    edges = np.linspace(*SPAN, BINS + 1)
    return np.repeat((edges[:-1] + edges[1:]) / 2, counts)
