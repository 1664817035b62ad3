"""LIMIT as a loss for your own training loop."""

import torch
from torch import Tensor, nn

from noiselimit.errors import InputError, number, unknown
from noiselimit.methods import Batch, gap, get_method
from noiselimit.randomness import DRAWS

_VARIANTS = {"laplace": "limit-l", "gaussian": "limit-g"}


class LimitLoss(nn.Module):
    """The LIMIT loss for your own training loop, instead of cross-entropy.

    `loss, gap = criterion(logits, target, aux_logits)`. Back-propagating the loss trains both networks: the
    classifier by predicted gradients only, the predictor by the labels.

    Parameters
    ----------
    beta : float
        Weight of the gradient penalty. The larger it is, the less the predictor tells about single labels.
    distribution : {"laplace", "gaussian"}
        LIMIT-L or LIMIT-G.
    sigma : float
        Standard deviation of noise added to the predicted gradient (the paper's +S).
    """

    def __init__(self, beta: float = 10.0, distribution: str = "laplace", sigma: float = 0.0) -> None:
        super().__init__()
        if not isinstance(distribution, str) or distribution not in _VARIANTS:
            raise unknown("distribution", distribution, _VARIANTS)
        self.beta = number("beta", beta, at_least=0.0)
        self.sigma = number("sigma", sigma, at_least=0.0)
        self.distribution = distribution

    def forward(self, logits: Tensor, target: Tensor, aux_logits: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the loss of a batch.

        Parameters
        ----------
        logits : Tensor [B, C]
            From the classifier.
        target : Tensor [B]
            Given labels.
        aux_logits : Tensor [B, C]
            From a second network, the predictor, on the same inputs.

        Returns
        -------
        loss : Tensor []
        gap : Tensor [B]
            Distance of each label from the predictor's expectation, in [0, √2], without gradient; large for
            wrong labels.
        """
        _check(logits, target, aux_logits)
        method = get_method(_VARIANTS[self.distribution] + ("+s" if self.sigma else ""))
        hyper = {name: logits.new_tensor([getattr(self, name)]) for name in method.hyper}
        batch = Batch(
            logits=logits[None],
            features=logits[None],  # LIMIT does not use them
            labels=target[None],
            predictor_logits=aux_logits[None],
            draws=self._draws(logits),
        )
        return method.loss(batch, hyper)[0], gap(aux_logits.detach(), target)

    def _draws(self, logits: Tensor) -> Tensor | None:
        """New draws [1, B, C], controlled by `torch.manual_seed`."""
        if not self.sigma:
            return None
        key = torch.randint(2**62, (1,)).to(logits.device)
        step = torch.zeros((), dtype=torch.int64, device=logits.device)
        shape = (logits.shape[0], logits.shape[1])
        return DRAWS[self.distribution](key, step, shape).to(logits.dtype)

    def extra_repr(self) -> str:
        """Shown by `print(criterion)`."""
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
            f"target has shape {list(target.shape)} and type {target.dtype}: give one integer label "
            f"per row of the logits, [{logits.shape[0]}]."
        )
    if not len(target):
        raise InputError("the batch is empty: give at least one example.")
    if target.device.type != "cpu" or torch.compiler.is_compiling():
        # Indexing checks on the device; a check here would wait for the device at every step.
        logits.detach().gather(-1, target.unsqueeze(-1))
        return
    unfit = (target < 0) | (target >= logits.shape[1])
    if unfit.any():
        row = int(unfit.int().argmax())
        raise InputError(
            f"target in row {row} is {int(target[row])}: labels go from 0 to {logits.shape[1] - 1}, so "
            "correct it or leave the example out."
        )
