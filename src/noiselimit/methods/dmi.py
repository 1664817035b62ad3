"""DMI: the determinant of the joint of given labels and predictions (Xu et al. 2019), made stable.

Noise that depends on the class only multiplies the joint by its transition matrix and so adds a constant to
−log|det|, whatever the classifier. But a batch that lacks a class has a row of zeros: |det| is 0, and its
gradient too when two classes are missing, as nearly always at 100 classes and batches of 256. A constant
added to the determinant leaves that gradient at 0. So each singular value v counts as √(v² + ridge²) instead:
the classes that are present then maximise the volume they span, and without missing classes the ridge is lost
in the digits. A ridge on the diagonal, det(U + ridge·I), would need the network's classes to be the labels'
already and disturbs the constant more: by ridge/v instead of (ridge/v)²/2 for each singular value.
"""

import math

from noiselimit.methods.method import Batch, Hyper, Method, Tensor, onehot

RIDGE = 1e-3
"""In units of 1/C, the singular values of a balanced joint whose predictions are all right and certain."""


def joint(batch: Batch) -> Tensor:
    """[K, C, C] float64 U = mean y pᵀ: share of given label i and prediction j in the batch."""
    p = batch.logits.double().softmax(-1)
    y = onehot(batch.labels, p.shape[-1], p.dtype)
    if batch.weights is not None:
        y = y * batch.weights.unsqueeze(-1)
    return y.transpose(-1, -2) @ p / p.shape[-2]


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """−½ log det(U Uᵀ + (ridge/C)² I), [K]: −log|det U| where no singular value is near the ridge.

    In float64, for squares of singular values take twice the digits.
    """
    import torch

    classes = batch.logits.shape[-1]
    scaled = joint(batch) * classes
    identity = torch.eye(classes, dtype=scaled.dtype, device=scaled.device)
    squares = scaled @ scaled.transpose(-1, -2) + RIDGE**2 * identity
    log_volume: Tensor = 0.5 * torch.linalg.slogdet(squares).logabsdet - classes * math.log(classes)
    return -log_volume.to(batch.logits.dtype)


METHODS = (Method("dmi", loss, starts="classifier", searches_rate=True),)
