"""A meter that tells, in bits, how much label noise a training has memorised at least.

Theorem 2.1 read backwards: whoever makes few errors on noisy labels must know them, and the input does not
tell them. The theorem speaks of expectations over data and trainings; of one run the bits are what its
training error implies if this run is typical.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from noiselimit.errors import InputError
from noiselimit.information import least_information, uniform_noise_entropy

Source = Literal["noise", "predictor"]
"""Where H(y|x) is from: a noise model that is known, or the predictor's own uncertainty, an estimate."""


@dataclass(frozen=True)
class Memorised:
    """What the meter reads."""

    bits: float | None
    """Per label, at least, if this run is typical; None where nothing tells the noise's entropy."""
    error: float
    """Share of the given labels that the classifier missed."""
    noise_entropy: float | None
    """H(y|x) in bits per label: how much there is to memorise."""
    source: Source | None
    """Where the noise entropy is from."""
    wrong_fitted: float | None
    """Share of the wrong labels that the classifier reproduced; None where they are not known."""


def implied_bits(error: float, noise_entropy: float | None, classes: int) -> float | None:
    """Bits per label that a training error on noisy labels implies, or None where H(y|x) is not known."""
    return None if noise_entropy is None else float(least_information(noise_entropy, error, classes))


def predictor_bits(predictor_logits: Tensor) -> Tensor:
    """float64 [...]: entropy in bits of softmax(r), [..., C]: how unsure the predictor is of each label."""
    log_probabilities = predictor_logits.to(torch.float64).log_softmax(-1)
    return -(log_probabilities.exp() * log_probabilities).sum(-1) / math.log(2)


def estimated_entropy(mean_bits: float, classes: int) -> float:
    """The predictor's mean uncertainty as an estimate of H(y|x); rounding must not lead past log₂ k."""
    return min(mean_bits, math.log2(classes))


class MemorisationMeter:
    """Counts in anybody's training loop: `update` after every batch, `read` after every epoch.

    Where the noise is known, give its entropy in bits per label (`noiselimit.information` computes it) or,
    for uniform noise, its rate. Else give the predictor's logits to `update`: its uncertainty then estimates
    it. That of an untrained predictor is too high, so that its bits are learning rather than memory; one that
    has memorised labels is too sure, and its bits too few.
    """

    def __init__(
        self, classes: int, *, noise_entropy: float | None = None, noise_rate: float | None = None
    ) -> None:
        if noise_entropy is not None and noise_rate is not None:
            raise InputError("noise_entropy and noise_rate are both given: give one of them.")
        if noise_rate is not None:
            noise_entropy = float(uniform_noise_entropy(noise_rate, classes))
        implied_bits(0.0, noise_entropy or 0.0, classes)  # says if they are not possible
        self.classes = classes
        self.noise_entropy = noise_entropy
        self._reset()

    def _reset(self) -> None:
        self._sums: dict[str, Any] = dict.fromkeys(
            ("seen", "missed", "wrong", "fitted", "unsure", "judged"), 0
        )

    @torch.no_grad()
    def update(
        self,
        logits: Tensor,
        labels: Tensor,
        *,
        wrong: Tensor | None = None,
        predictor_logits: Tensor | None = None,
    ) -> None:
        """Count a batch: logits [B, C], given labels [B]; which of them are wrong, bool [B], where known.

        Nothing waits for the device here; only `read` does.
        """
        if labels.dim() != 1:
            raise InputError(
                f"labels have shape {list(labels.shape)}: give one class number per example, [B]."
            )
        for name, given in (("logits", logits), ("predictor_logits", predictor_logits)):
            if given is not None and given.shape != (len(labels), self.classes):
                raise InputError(
                    f"{name} have shape {list(given.shape)}: give one row per label, {self.classes} columns."
                )
        if wrong is not None and (wrong.shape != labels.shape or wrong.dtype != torch.bool):
            raise InputError(
                f"wrong has shape {list(wrong.shape)} and type {wrong.dtype}: give one bool per label."
            )
        hit = (logits.argmax(-1) == labels) & ~logits.isnan().any(-1)
        sums = self._sums
        sums["seen"] += len(labels)
        sums["missed"] = sums["missed"] + (~hit).sum()
        if wrong is not None:
            sums["wrong"] = sums["wrong"] + wrong.sum()
            sums["fitted"] = sums["fitted"] + (hit & wrong).sum()
        if predictor_logits is not None:
            sums["judged"] += len(labels)
            sums["unsure"] = sums["unsure"] + predictor_bits(predictor_logits).sum()

    def read(self) -> Memorised:
        """What was counted since the last reading."""
        sums = {name: float(value) for name, value in self._sums.items()}
        self._reset()
        if not sums["seen"]:
            raise InputError("the meter has seen no labels: call update(logits, labels) before read().")
        entropy, source = self.noise_entropy, None if self.noise_entropy is None else "noise"
        if entropy is None and sums["judged"]:
            entropy = estimated_entropy(sums["unsure"] / sums["judged"], self.classes)
            source = "predictor"
        error = sums["missed"] / sums["seen"]
        return Memorised(
            bits=implied_bits(error, entropy, self.classes),
            error=error,
            noise_entropy=entropy,
            source=source,  # type: ignore[arg-type]
            wrong_fitted=sums["fitted"] / sums["wrong"] if sums["wrong"] else None,
        )
