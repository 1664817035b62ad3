"""Probabilities in float64: in float32 those of an input depend on how many are asked about at once."""

import copy
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from noiselimit.cohort.block_data import evaluation_batch
from noiselimit.runs import Run

Floats = npt.NDArray[np.float64]


def classifier_probabilities(runs: Sequence[Run], inputs: npt.NDArray[np.generic]) -> Floats:
    """[n, classes]: the mean over the runs of what their classifiers say of canonical inputs [n, ...]."""
    return _mean([_probabilities(run, run.model, inputs) for run in runs])


def judging_probabilities(runs: Sequence[Run], inputs: npt.NDArray[np.generic]) -> Floats:
    """[n, classes] likewise of the predictors, by which labels are judged; without one, the classifier's."""
    return _mean([_probabilities(run, run.predictor or run.model, inputs) for run in runs])


def _mean(said: Sequence[Floats]) -> Floats:
    return np.asarray(np.mean(said, axis=0), np.float64)


def _probabilities(run: Run, network: torch.nn.Module, inputs: npt.NDArray[np.generic]) -> Floats:
    # Somebody else's network may hold numbers in float32 that do not follow.
    dtype = torch.float32 if run.spec.names_code else torch.float64
    exact = copy.deepcopy(network).to(dtype)
    size = evaluation_batch(inputs.shape[1:])
    said = []
    with torch.inference_mode():
        for start in range(0, len(inputs), size):
            piece = np.require(inputs[start : start + size], requirements="W")  # torch warns otherwise
            said.append(exact(run.data.standardised(piece).to(dtype))[0].to(torch.float64).softmax(-1))
    return np.asarray(torch.cat(said).numpy(), np.float64)
