"""LIMIT as a criterion for anybody's own training loop."""

import torch
from torch import Tensor, nn

from noiselimit.draws import DRAWS
from noiselimit.errors import InputError, number, unknown
from noiselimit.methods import Batch, gap, get_method

_VARIANTS = {"laplace": "limit-l", "gaussian": "limit-g"}


class LimitLoss(nn.Module):
    """`loss, gap = criterion(logits, target, aux_logits)`, to be used instead of cross-entropy.

    `logits` [B, C] come from the classifier, `aux_logits` [B, C] from a second network, the predictor, on the
    same inputs; `target` [B] holds the given labels. Back-propagating the loss trains both: the classifier by
    predicted gradients only, the predictor by the labels. The larger `beta`, the less the predictor can pass
    on about single labels; `sigma` > 0 adds noise to the predicted gradient (the paper's +S). `gap` [B] in
    [0, √2] tells how far each label is from what the predictor expects: large for wrong labels.
    """

    def __init__(self, beta: float = 10.0, distribution: str = "laplace", sigma: float = 0.0) -> None:
        super().__init__()
        if not isinstance(distribution, str) or distribution not in _VARIANTS:
            raise unknown("distribution", distribution, _VARIANTS)
        self.beta = number("beta", beta, at_least=0.0)
        self.sigma = number("sigma", sigma, at_least=0.0)
        self.distribution = distribution

    def forward(self, logits: Tensor, target: Tensor, aux_logits: Tensor) -> tuple[Tensor, Tensor]:
        """([] loss, [B] gap without gradient)."""
        _check(logits, target, aux_logits)
        method = get_method(_VARIANTS[self.distribution] + ("+s" if self.sigma else ""))
        hyper = {name: logits.new_tensor([getattr(self, name)]) for name in method.hyper}
        batch = Batch(
            logits=logits[None],
            features=logits[None],  # LIMIT does not look at them
            labels=target[None],
            predictor_logits=aux_logits[None],
            draws=self._draws(logits),
        )
        return method.loss(batch, hyper)[0], gap(aux_logits.detach(), target)

    def _draws(self, logits: Tensor) -> Tensor | None:
        """Fresh draws [1, B, C], keyed by torch's own generator so that `torch.manual_seed` governs them."""
        if not self.sigma:
            return None
        key = torch.randint(2**62, (1,)).to(logits.device)
        step = torch.zeros((), dtype=torch.int64, device=logits.device)
        shape = (logits.shape[0], logits.shape[1])
        return DRAWS[self.distribution](key, step, shape).to(logits.dtype)

    def extra_repr(self) -> str:
        """What `print(criterion)` shows."""
        return f"beta={self.beta:g}, distribution='{self.distribution}', sigma={self.sigma:g}"


def _check(logits: Tensor, target: Tensor, aux_logits: Tensor) -> None:
    for name, value in (("logits", logits), ("target", target), ("aux_logits", aux_logits)):
        if not isinstance(value, Tensor):
            raise InputError(f"{name} has type {type(value).__name__}: give a torch tensor.")
    if logits.dim() != 2 or logits.shape != aux_logits.shape:
        raise InputError(
            f"logits have shape {list(logits.shape)} and aux_logits {list(aux_logits.shape)}: "
            "give both as [batch, classes]."
        )
    if target.shape != logits.shape[:1] or target.is_floating_point() or target.dtype == torch.bool:
        raise InputError(
            f"target has shape {list(target.shape)} and type {target.dtype}: give one whole-number label "
            f"per row of the logits, [{logits.shape[0]}]."
        )
    if not len(target):
        raise InputError("the batch is empty: give at least one example.")
    if target.device.type != "cpu" or torch.compiler.is_compiling():
        # Indexing checks on the device by itself; asking for the answer here would wait for it at every step.
        logits.detach().gather(-1, target.unsqueeze(-1))
        return
    unfit = (target < 0) | (target >= logits.shape[1])
    if unfit.any():
        row = int(unfit.int().argmax())
        raise InputError(
            f"target in row {row} is {int(target[row])}: labels go from 0 to {logits.shape[1] - 1}, so "
            "correct it or leave the example out."
        )
