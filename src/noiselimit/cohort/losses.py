"""The losses of a block's rows: each method computes those of its own rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from noiselimit.cohort.block_data import InputBatch
from noiselimit.draws import DRAWS, stream_keys
from noiselimit.methods import Batch, Method, get_method
from noiselimit.randomness import Stream
from noiselimit.spec import RunSpec


@dataclass(frozen=True)
class MethodRows:
    """Neighbouring rows of one method."""

    method: Method
    rows: slice
    hyper: Mapping[str, Tensor]
    sampling_keys: Tensor
    transition: Tensor | None


def method_rows(
    specs: Sequence[RunSpec], transitions: Sequence[Tensor | None], device: torch.device
) -> list[MethodRows]:
    """The rows method by method; those of one method are neighbours."""
    groups = []
    methods = [spec.method for spec in specs]
    for name in dict.fromkeys(methods):
        rows = slice(methods.index(name), methods.index(name) + methods.count(name))
        members, method = specs[rows], get_method(name)
        hyper = {
            h: torch.tensor([spec.hyper[h] for spec in members], dtype=torch.float32, device=device)
            for h in method.hyper
        }
        keys = stream_keys([spec.seed for spec in members], Stream.SAMPLING, device)
        matrices = [matrix for matrix in transitions[rows] if matrix is not None]
        groups.append(MethodRows(method, rows, hyper, keys, torch.stack(matrices) if matrices else None))
    return groups


def losses(
    groups: Sequence[MethodRows],
    given: InputBatch,
    logits: Tensor,
    features: Tensor,
    predicted: Tensor | None,
    step: Tensor,
) -> Tensor:
    """[K] of logits [K, B, C], features [K, B, F] and predictor logits [P, B, C], at this step []."""
    found = []
    for group in groups:
        rows, method = group.rows, group.method
        own_predicted = None
        if predicted is not None and method.needs_predictor:
            own_predicted = _part(predicted, rows)
        draw = DRAWS[method.draws] if method.draws else None
        batch = Batch(
            logits=_part(logits, rows),
            features=_part(features, rows),
            labels=_part(given.labels, rows),
            predictor_logits=own_predicted,
            draws=draw(group.sampling_keys, step, (logits.shape[1], logits.shape[2])) if draw else None,
            weights=None if given.weights is None else _part(given.weights, rows),
            transition=group.transition,
            step=step,
        )
        found.append(method.loss(batch, group.hyper))
    return found[0] if len(found) == 1 else torch.cat(found)


def _part(tensor: Tensor, rows: slice) -> Tensor:
    """These rows; all of them without a slice, whose gradient would be a copy."""
    return tensor if rows == slice(0, len(tensor)) else tensor[rows]
