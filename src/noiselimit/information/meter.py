"""A meter for your training loop: how much label noise was memorised, in bits per label.

It solves Theorem 2.1 for the information: a model that makes few errors on noisy labels must have memorised
them. The theorem holds in expectation; for one run, the bits are what its training error implies if it is
typical.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from noiselimit.errors import InputError
from noiselimit.information import least_information, uniform_noise_entropy

Source = Literal["noise", "predictor"]
"""Where H(y|x) comes from: a known noise model, or the predictor's uncertainty, an estimate."""


@dataclass(frozen=True)
class Memorised:
    """The result of a reading."""

    bits: float | None
    """Memorised bits per label, at least; None if the noise entropy is unknown."""
    error: float
    """Share of the given labels that the classifier missed."""
    noise_entropy: float | None
    """H(y|x) in bits per label: how much there is to memorise."""
    source: Source | None
    """Where the noise entropy comes from."""
    wrong_fitted: float | None
    """Share of the wrong labels that the classifier reproduced; None if unknown."""


def implied_bits(error: float, noise_entropy: float | None, classes: int) -> float | None:
    """Bits per label that a training error implies; None if the noise entropy is unknown."""
    return None if noise_entropy is None else float(least_information(noise_entropy, error, classes))


def predictor_bits(predictor_logits: Tensor) -> Tensor:
    """Entropy in bits of softmax(logits [..., C]), float64 [...]."""
    log_probabilities = predictor_logits.to(torch.float64).log_softmax(-1)
    return -(log_probabilities.exp() * log_probabilities).sum(-1) / math.log(2)


def estimated_entropy(mean_bits: float, classes: int) -> float:
    """The predictor's mean uncertainty as an estimate of H(y|x), at most log₂ k."""
    return min(mean_bits, math.log2(classes))


class MemorisationMeter:
    """Measure memorised label noise: call `update` after every batch and `read` after every epoch.

    If the noise is unknown, pass the predictor's logits to `update`; its uncertainty then estimates the noise
    entropy. The estimate is too high for an untrained predictor and too low for one that memorised labels.

    Parameters
    ----------
    classes : int
    noise_entropy : float, optional
        H(y|x) in bits per label, if known. `noiselimit.information` computes it.
    noise_rate : float, optional
        Rate of uniform noise, instead of `noise_entropy`.
    """

    def __init__(
        self, classes: int, *, noise_entropy: float | None = None, noise_rate: float | None = None
    ) -> None:
        if noise_entropy is not None and noise_rate is not None:
            raise InputError("noise_entropy and noise_rate are both given: give one of them.")
        if noise_rate is not None:
            noise_entropy = float(uniform_noise_entropy(noise_rate, classes))
        implied_bits(0.0, noise_entropy or 0.0, classes)  # raises if the values are impossible
        self.classes = classes
        self.noise_entropy = noise_entropy
        self._reset()

    def _reset(self) -> None:
        names = ("seen", "missed", "wrong", "fitted", "entropy", "predicted")
        self._sums: dict[str, Any] = dict.fromkeys(names, 0)

    @torch.no_grad()
    def update(
        self,
        logits: Tensor,
        labels: Tensor,
        *,
        wrong: Tensor | None = None,
        predictor_logits: Tensor | None = None,
    ) -> None:
        """Count a batch, without waiting for the device.

        Parameters
        ----------
        logits : Tensor [B, C]
        labels : Tensor [B]
            The given labels.
        wrong : bool Tensor [B], optional
            Which labels are wrong, if known.
        predictor_logits : Tensor [B, C], optional
        """
        rows = labels.shape[:1]
        for name, given, shape in (
            ("labels", labels, rows),
            ("logits", logits, (*rows, self.classes)),
            ("predictor_logits", predictor_logits, (*rows, self.classes)),
            ("wrong", wrong, rows),
        ):
            if given is not None and given.shape != shape:
                raise InputError(f"{name} has shape {list(given.shape)}: give {list(shape)}.")
        hit = (logits.argmax(-1) == labels) & ~logits.isnan().any(-1)
        sums = self._sums
        sums["seen"] += len(labels)
        sums["missed"] = sums["missed"] + (~hit).sum()
        if wrong is not None:
            sums["wrong"] = sums["wrong"] + wrong.bool().sum()
            sums["fitted"] = sums["fitted"] + (hit & wrong.bool()).sum()
        if predictor_logits is not None:
            sums["predicted"] += len(labels)
            sums["entropy"] = sums["entropy"] + predictor_bits(predictor_logits).sum()

    def read(self) -> Memorised:
        """Return the result since the last reading, and start again."""
        sums = {name: float(value) for name, value in self._sums.items()}
        self._reset()
        if not sums["seen"]:
            raise InputError("the meter has seen no labels: call update(logits, labels) before read().")
        entropy = self.noise_entropy
        source: Source | None = None if entropy is None else "noise"
        if entropy is None and sums["predicted"]:
            entropy = estimated_entropy(sums["entropy"] / sums["predicted"], self.classes)
            source = "predictor"
        error = sums["missed"] / sums["seen"]
        return Memorised(
            bits=implied_bits(error, entropy, self.classes),
            error=error,
            noise_entropy=entropy,
            source=source,
            wrong_fitted=sums["fitted"] / sums["wrong"] if sums["wrong"] else None,
        )
