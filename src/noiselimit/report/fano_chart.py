"""Fig. 2: the least training error against the bits memorised per label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noiselimit.errors import InputError
from noiselimit.information import least_error, uniform_noise_entropy
from noiselimit.report.charts import Line, line_chart

POINTS = 161
LABEL_AT = 0.2  # of a curve's length, where the curves of a usual figure are well apart


@dataclass(frozen=True)
class FanoCurve:
    """One noise: from no information to all that there is."""

    noise: float
    bits: list[float]
    errors: list[float]

    def to_json(self) -> dict[str, Any]:
        return {"noise": self.noise, "bits": self.bits, "least_error": self.errors}


def fano_curve(probability: str, classes: int) -> FanoCurve:
    """Of uniform noise with this probability, as typed."""
    try:
        p = float(probability)
    except ValueError:
        raise InputError(
            f"probability is '{probability}': give a number from 0 to 1, or several separated by commas."
        ) from None
    entropy = uniform_noise_entropy(p, classes)
    bits = np.linspace(0, entropy, POINTS)
    return FanoCurve(p, bits.tolist(), least_error(entropy, bits, classes).tolist())


def fano_chart(curves: Sequence[FanoCurve], classes: int) -> str:
    """An SVG file of the curves, each with its probability written beside it."""
    lines = [
        Line(
            f"p = {curve.noise:g}",
            list(zip(curve.bits, curve.errors, strict=True)),
            "chosen",
            label_at=curve.bits[round(LABEL_AT * (POINTS - 1))],
        )
        for curve in curves
    ]
    return line_chart(
        lines,
        title=f"Least training error against memorised bits, uniform noise, {classes} classes",
        x_label="I(w;Y|X)/n: bits memorised per label",
        y_label="least training error",
        standalone=True,
    )
