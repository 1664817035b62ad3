"""DMI: the determinant of the joint of given labels and predictions (Xu et al. 2019), made stable.

Class-dependent noise multiplies the joint by its transition matrix, which adds a constant to −log|det| for
every classifier. But in a batch without a class the joint has a row of zeros: |det| is 0, and without two
classes its gradient is 0 too. With 100 classes and batches of 256 this is the rule. A constant added to the
determinant would not change that gradient. Instead, each singular value v counts as √(v² + ridge²): the
classes that are present then maximise the volume they span, and if none is missing the ridge is negligible.
A ridge on the diagonal, det(U + ridge·I), would assume that predicted classes already match the labels, and
it disturbs the constant more: by ridge/v instead of (ridge/v)²/2 per singular value.
"""

import math

from noiselimit.methods.method import Batch, Hyper, Method, Tensor, onehot

RIDGE = 1e-3
"""In units of 1/C, the singular values of a balanced joint if all predictions are right and certain."""


def joint(batch: Batch) -> Tensor:
    """[K, C, C] float64 U = mean y pᵀ: share of given label i and prediction j in the batch."""
    p = batch.logits.double().softmax(-1)
    y = onehot(batch.labels, p.shape[-1], p.dtype)
    if batch.weights is not None:
        y = y * batch.weights.unsqueeze(-1)
    return y.transpose(-1, -2) @ p / p.shape[-2]


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """−½ log det(U Uᵀ + (ridge/C)² I), [K]: −log|det U| where no singular value is near the ridge.

    In float64, because squares of singular values take twice the digits.
    """
    import torch

    classes = batch.logits.shape[-1]
    scaled = joint(batch) * classes
    identity = torch.eye(classes, dtype=scaled.dtype, device=scaled.device)
    squares = scaled @ scaled.transpose(-1, -2) + RIDGE**2 * identity
    log_volume: Tensor = 0.5 * torch.linalg.slogdet(squares).logabsdet - classes * math.log(classes)
    return -log_volume.to(batch.logits.dtype)


METHODS = (Method("dmi", loss, starts="classifier", searches_rate=True),)
