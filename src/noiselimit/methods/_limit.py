"""The surrogate loss that LIMIT's variants share (paper, Sec. 3.3–3.4 and Alg. 1).

With p = m(a), s = m(r) and y the target, where m is the mean function of the task (softmax for
classification, which makes y one-hot), the true gradient by the outputs a is p − y and the predicted one
μ = p − s. The classifier receives exactly g = μ (plus a draw in the +S variants), divided by
the batch size. The predictor learns to make μ close to p − y, that is s close to y; β‖μ‖² limits how much
information it can pass on. An ordinary loss, not an autograd.Function, works under torch.compile, vmap and
DDP.
"""

from collections.abc import Callable
from typing import Literal

from noiselimit.methods.method import Batch, Hyper, Method, Tensor

DEFAULT_BETA = 10.0
DEFAULT_SIGMA = 0.03
HELP = {
    "beta": "Weight of the gradient penalty.",
    "sigma": "Standard deviation of the gradient noise in +s methods, ce-gn and ce-ln.",
}

PredictorError = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(predictor outputs r, s = m(r), targets y), each [K, B, C] → error per example, [K, B]."""


def limit_loss(batch: Batch, hyper: Hyper, predictor_error: PredictorError) -> Tensor:
    """[K] losses. `hyper` holds beta, and sigma when `batch.draws` are given."""
    assert batch.predictor_logits is not None
    p = batch.task.mean(batch.logits).detach()
    s = batch.task.mean(batch.predictor_logits)
    mu = p - s
    y = batch.task.target(batch.labels, p)

    g = mu.detach()
    if batch.draws is not None:
        g = g + hyper["sigma"][:, None, None] * batch.draws

    classifier_term = batch.mean((batch.logits * g).sum(-1))
    predictor_term = batch.mean(predictor_error(batch.predictor_logits, s, y))
    penalty = batch.mean(mu.square().sum(-1))
    return classifier_term + predictor_term + hyper["beta"] * penalty


def limit_method(
    name: str,
    predictor_error: PredictorError,
    draws: Literal["gaussian", "laplace"] | None = None,
    starts: Literal["predictor"] | None = None,
    needs_classes: bool = False,
) -> Method:
    """Define a variant of LIMIT, whose predictor minimises this error and β‖μ‖².

    `draws`: sample from this distribution around the predicted gradient (the paper's +S). `starts`: the
    predictor starts from the best CE run (+Init).
    """

    def loss(batch: Batch, hyper: Hyper) -> Tensor:
        return limit_loss(batch, hyper, predictor_error)

    hyper = {"beta": DEFAULT_BETA, "sigma": DEFAULT_SIGMA} if draws else {"beta": DEFAULT_BETA}
    return Method(
        name,
        loss,
        hyper,
        HELP,
        needs_predictor=True,
        draws=draws,
        starts=starts,
        needs_classes=needs_classes,
    )
