"""How long the gradients are that a run's predictor predicts."""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from noiselimit.cohort.block_data import evaluation_batch
from noiselimit.errors import InputError
from noiselimit.runs import Run

BATCH = 1000


def gradient_norms(run: Run, inputs: npt.NDArray[Any], device: torch.device) -> npt.NDArray[np.float64]:
    """[n]: ‖softmax(a) − softmax(r)‖ in [0, √2] of the best epoch's networks, for inputs [n, ...]."""
    if run.predictor is None:
        raise InputError(f"{run.spec.method} predicts no gradients: choose a method with a predictor.")
    # Copies, so that the run's own modules stay where they are.
    classifier, predictor = (copy.deepcopy(module).to(device) for module in (run.model, run.predictor))
    size = evaluation_batch(inputs.shape[1:], BATCH)
    norms = []
    with torch.inference_mode():
        for start in range(0, len(inputs), size):
            batch = run.data.standardised(inputs[start : start + size]).to(device)
            predicted = classifier(batch)[0].softmax(-1) - predictor(batch)[0].softmax(-1)
            norms.append(predicted.norm(dim=-1).double().cpu().numpy())
    return np.concatenate(norms) if norms else np.empty(0)
