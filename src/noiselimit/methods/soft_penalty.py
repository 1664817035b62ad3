"""Soft penalty: cross-entropy plus a penalty on what the last layer's gradient adds to its prediction.

Paper, eq. penalize-final. With z the last layer's input and no bias, the gradient of its weights is
(s(a) − y) zᵀ and the predicted one (s(a) − s(r)) zᵀ. λ weighs their squared distance ‖z‖²‖y − s(r)‖², β the
squared norm of the prediction. Both terms train both networks; λ's reaches the classifier through ‖z‖ only.
"""

from noiselimit.methods.method import Batch, Hyper, Method, Tensor

DEFAULT_PENALTY = 0.01
DEFAULT_BETA = 0.1


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """CE + λ · mean ‖z‖²‖y − s(r)‖² + β · mean ‖(s(a) − s(r)) zᵀ‖², [K]; λ is hyper-parameter `penalty`.

    The squared norm of an outer product u zᵀ is ‖u‖²‖z‖², so no outer product is built.
    """
    assert batch.predictor_logits is not None
    p, s = batch.task.mean(batch.logits), batch.task.mean(batch.predictor_logits)
    y = batch.task.target(batch.labels, p)
    z_squared = batch.features.square().sum(-1)

    cross_entropy = batch.mean(batch.task.loss(batch.logits, batch.labels))
    distance = batch.mean(z_squared * (y - s).square().sum(-1))
    predicted_norm = batch.mean(z_squared * (p - s).square().sum(-1))
    return cross_entropy + hyper["penalty"] * distance + hyper["beta"] * predicted_norm


METHODS = (
    Method(
        "soft-penalty",
        loss,
        {"penalty": DEFAULT_PENALTY, "beta": DEFAULT_BETA},
        {"penalty": "λ of soft-penalty."},
        needs_predictor=True,
        needs_classes=False,
        head_bias=False,
    ),
)
