"""What the networks of several runs say: in float64, where in float32 what is said of an input depends on how
many are asked about at once; and in float32 for many inputs."""

import copy
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from noiselimit.data.arrays import Inputs
from noiselimit.engine.block_data import evaluation_batch
from noiselimit.runs.run import Run

Floats = npt.NDArray[np.float64]


def classifier_probabilities(runs: Sequence[Run], inputs: npt.NDArray[np.generic]) -> Floats:
    """[n, classes]: the mean over the runs of what their classifiers say of canonical inputs [n, ...]."""
    return _mean([_probabilities(run, run.model, inputs) for run in runs])


def mean_probabilities(runs: Sequence[Run], inputs: Inputs, device: torch.device) -> npt.NDArray[np.float32]:
    """[n, classes]: the mean over runs, and over classifier and predictor of each, of what their weights say.

    In float32, on the device and in pieces: for many inputs, which need not fit in memory.
    """
    networks = [
        (run, copy.deepcopy(network).to(device))
        for run in runs
        for network in (run.model, run.predictor or run.model)
    ]
    mean = np.zeros((len(inputs), len(runs[0].data.class_names)), np.float32)
    size = evaluation_batch(inputs.shape[1:])
    with torch.inference_mode():
        for start in range(0, len(inputs), size):
            piece = np.require(inputs[start : start + size], requirements="W")
            for run, network in networks:
                logits = network(run.data.standardised(piece).to(device))[0].to(torch.float32)
                mean[start : start + size] += logits.softmax(-1).cpu().numpy() / len(networks)
    return mean


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
