"""LIMIT as a loss for your own training loop."""

import torch
from torch import Tensor, nn

from noiselimit.errors import InputError, number, unknown
from noiselimit.methods import METHODS, Batch, gap
from noiselimit.randomness import DRAWS
from noiselimit.tasks import CLASSIFICATION

_VARIANTS = {"laplace": "limit-l", "gaussian": "limit-g"}


class LimitLoss(nn.Module):
    """The LIMIT loss for your own training loop, instead of cross-entropy.

    `loss, gap = criterion(logits, target, aux_logits)`. Back-propagating the loss trains both networks: the
    classifier by predicted gradients only, the predictor by the labels.

    Parameters
    ----------
    beta : float
        Weight of the gradient penalty. Larger values let less information about individual labels through.
    distribution : {"laplace", "gaussian"}
        LIMIT-L or LIMIT-G.
    sigma : float
        Standard deviation of noise added to the predicted gradient (the paper's +S).
    ignore_index : int
        Examples with this label do not count, as in `torch.nn.CrossEntropyLoss`.
    """

    def __init__(
        self,
        beta: float = 10.0,
        distribution: str = "laplace",
        sigma: float = 0.0,
        *,
        ignore_index: int = -100,
    ) -> None:
        super().__init__()
        if not isinstance(distribution, str) or distribution not in _VARIANTS:
            raise unknown("distribution", distribution, _VARIANTS)
        self.beta = number("beta", beta, at_least=0.0)
        self.sigma = number("sigma", sigma, at_least=0.0)
        self.distribution = distribution
        self.ignore_index = ignore_index

    def forward(self, logits: Tensor, target: Tensor, aux_logits: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the loss of a batch.

        Parameters
        ----------
        logits : Tensor [..., C]
            From the classifier, for example [B, C], or [B, T, C] with a label per token.
        target : Tensor [...] or [..., C]
            Given labels, or probabilities of the classes.
        aux_logits : Tensor [..., C]
            From a second network, the predictor, on the same inputs.

        Returns
        -------
        loss : Tensor []
            Mean over the labels that count.
        gap : Tensor [...]
            Distance of each label from the predictor's expectation, in [0, √2], without gradient; large for
            wrong labels. NaN where the label is ignored.
        """
        soft = _check(logits, target, aux_logits)
        classes = logits.shape[-1]
        a, r = logits.reshape(-1, classes), aux_logits.reshape(-1, classes)
        weights = None
        if soft:
            y = target.reshape(-1, classes)
        else:
            y = target.reshape(-1)
            counts = y != self.ignore_index
            y = torch.where(counts, y, 0)
            self._check_range(y, classes)
            weights = counts * (len(y) / counts.sum().clamp(min=1))
        method = METHODS.own[_VARIANTS[self.distribution] + ("+s" if self.sigma else "")]
        hyper = {name: logits.new_tensor([getattr(self, name)]) for name in method.hyper}
        batch = Batch(
            logits=a[None],
            features=a[None],  # LIMIT does not use them
            labels=y[None],
            predictor_logits=r[None],
            draws=self._draws(a),
            weights=None if weights is None else weights[None],
            task=CLASSIFICATION,  # torch.compile cannot make the default
        )
        gaps = gap(r.detach(), y)
        if weights is not None:
            gaps = torch.where(counts, gaps, torch.nan)
        return method.loss(batch, hyper)[0], gaps.reshape(logits.shape[:-1])

    def _draws(self, logits: Tensor) -> Tensor | None:
        """New draws [1, B, C], controlled by `torch.manual_seed`."""
        if not self.sigma:
            return None
        key = torch.randint(2**62, (1,)).to(logits.device)
        step = torch.zeros((), dtype=torch.int64, device=logits.device)
        shape = (logits.shape[0], logits.shape[1])
        return DRAWS[self.distribution](key, step, shape).to(logits.dtype)

    def _check_range(self, target: Tensor, classes: int) -> None:
        if target.device.type != "cpu" or torch.compiler.is_compiling():
            # Indexing checks on the device; a check here would wait for the device at every step.
            target.new_zeros(classes).gather(-1, target)
            return
        unfit = (target < 0) | (target >= classes)
        if unfit.any():
            row = int(unfit.int().argmax())
            raise InputError(
                f"target in row {row} is {int(target[row])}: labels go from 0 to {classes - 1}; correct it, "
                f"or give {self.ignore_index} to leave the example out."
            )

    def extra_repr(self) -> str:
        """Shown by `print(criterion)`."""
        return f"beta={self.beta:g}, distribution='{self.distribution}', sigma={self.sigma:g}"


def _check(logits: Tensor, target: Tensor, aux_logits: Tensor) -> bool:
    """Raise an InputError if shapes or types do not fit; return whether the target is probabilities."""
    for name, value in (("logits", logits), ("target", target), ("aux_logits", aux_logits)):
        if not isinstance(value, Tensor):
            raise InputError(f"{name} has type {type(value).__name__}: give a torch tensor.")
    if logits.dim() < 2 or logits.shape != aux_logits.shape:
        raise InputError(
            f"logits have shape {list(logits.shape)} and aux_logits {list(aux_logits.shape)}: "
            "give both as [batch, classes]."
        )
    soft = target.is_floating_point()
    if target.shape != (logits.shape if soft else logits.shape[:-1]) or target.dtype == torch.bool:
        raise InputError(
            f"target has shape {list(target.shape)} and type {target.dtype}: give one integer label "
            f"per row of the logits, {list(logits.shape[:-1])}, or probabilities {list(logits.shape)}."
        )
    if not target.numel():
        raise InputError("the batch is empty: give at least one example.")
    return soft
