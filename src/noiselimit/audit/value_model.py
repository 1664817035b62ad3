"""How likely each number is wrong, from predictions of one or more models, the judges, for regression.

The judges' predictions are averaged, with weights that minimise the absolute error. A label is right, and its
residual follows a Student distribution whose scale depends on the inputs, or wrong, and follows the
distribution of all labels. The share of wrong labels and both parts are fitted by maximum likelihood, and
Bayes' rule gives the probability that a label is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.stats import t as student
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from noiselimit.audit.quality import Floats

FOLDS = 5
SPREAD_EXAMPLES = 200
"""With fewer labels, the spread is the same for all inputs."""
SHRINKAGES = (0.0, 0.5, 1.0)
"""Candidate exponents of the estimated spread: 0 makes it constant."""
NARROWEST = 0.1
"""The spread of any example, as a share of the median one."""
BINS, WIDE = 512, 0.1
"""Of the density of all labels, and the share of a uniform part in it."""
PRIOR_RIGHT = 0.1
"""So many right labels, for each label, does the prior of the share of wrong ones add."""
COVERAGE = 0.9
"""Probability with which an interval should hold the right value."""


@dataclass(frozen=True, eq=False)
class ValueModel:
    """What the judges say about each example; all arrays are [n], in units of the task's scale."""

    predictions: Sequence[Floats]
    """[n] of each judge; none trained on the label that it judges."""
    weights: Floats
    """[judges], summing to 1."""
    value: Floats
    """The weighted mean of the predictions."""
    spread: Floats
    """Scale of the distribution of right labels around the value."""
    low: Floats
    high: Floats
    """Interval that should hold the right value with a probability of 90 %."""
    error_probability: Floats
    """Of the given label being wrong; NaN where it is missing."""
    right: Floats
    """One minus that, with all its digits."""


def fit_value_model(
    predictions: Sequence[Floats], labels: Floats, inputs: npt.NDArray[np.floating], seed: int = 0
) -> ValueModel:
    """Fit the model to labels [n], NaN where missing, predictions [n] and inputs [n, features]."""
    known = ~np.isnan(labels)
    judged = np.stack(predictions)
    weights = _pool(judged[:, known], labels[known])
    value = weights @ judged
    y, residual = labels[known], labels[known] - value[known]
    local = _local_spread(np.column_stack([inputs, value]), known, np.abs(residual), seed)
    wrong = _log_density(y)
    fits = [_fit_mixture(residual, local[known] ** power, wrong) for power in SHRINKAGES]
    _, share, scale, freedom, power = min((*fit, power) for fit, power in zip(fits, SHRINKAGES, strict=True))
    spread = scale * local**power
    right = np.full(len(labels), np.nan)
    right[known] = _right(residual, spread[known], share, freedom, wrong)
    # Quantiles of what is probably right: the interval holds whatever the residuals' distribution is.
    low, high = _quantiles(residual / spread[known], right[known])
    return ValueModel(
        predictions, weights, value, spread, value + low * spread, value + high * spread, 1.0 - right, right
    )


def _pool(judged: Floats, labels: Floats) -> Floats:
    """Weights [judges] of the mean with the smallest absolute error, drawn a little towards equal ones."""
    judges, examples = judged.shape

    def loss(logits: Floats) -> tuple[float, Floats]:
        weights = np.exp(logits - logits.max())
        weights /= weights.sum()
        error = weights @ judged - labels
        smooth = np.sqrt(error**2 + 1e-4)
        by_weight = judged @ (error / smooth)
        by_logit = weights * (by_weight - weights @ by_weight) + 0.02 * examples / judges * logits
        return float(smooth.sum() + 0.01 * examples / judges * logits @ logits), by_logit

    found = minimize(loss, np.zeros(judges), jac=True, method="L-BFGS-B").x
    weights = np.exp(found - found.max())
    return np.asarray(weights / weights.sum())


def _local_spread(inputs: Floats, known: npt.NDArray[np.bool_], residual: Floats, seed: int) -> Floats:
    """[n]: the median size of residuals of such inputs relative to that of all; 1 with few labels."""
    rows = np.flatnonzero(known)
    if len(rows) < SPREAD_EXAMPLES:
        return np.ones(len(inputs))
    middle = float(np.median(residual)) or 1e-9
    spread = np.empty(len(inputs))

    def fit(rows: npt.NDArray[np.int64], sizes: Floats) -> HistGradientBoostingRegressor:
        model = HistGradientBoostingRegressor(
            loss="quantile",
            quantile=0.5,
            max_iter=60,
            min_samples_leaf=30,
            max_leaf_nodes=8,
            random_state=seed,
        )
        return model.fit(inputs[rows], sizes)

    for train, held_out in KFold(FOLDS, shuffle=True, random_state=seed).split(rows):
        spread[rows[held_out]] = fit(rows[train], residual[train]).predict(inputs[rows[held_out]])
    if not known.all():
        spread[~known] = fit(rows, residual).predict(inputs[~known])
    return np.maximum(spread / middle, NARROWEST)


def _log_density(labels: Floats) -> Floats:
    """[n]: logarithm of the density of all labels, smoothed on the scale of asinh, which outliers fit."""
    places = np.arcsinh(labels)
    low, high = places.min() - 1.0, places.max() + 1.0
    width = (high - low) / BINS
    smoothing = max(places.std() * len(places) ** -0.2, 2 * width)
    counts, _ = np.histogram(places, BINS, (low, high))
    distance = (np.arange(-BINS, BINS + 1) * width) / smoothing
    kernel = np.exp(-(distance**2) / 2)
    density = np.convolve(counts, kernel / kernel.sum())[BINS : 2 * BINS] / (len(places) * width)
    density = (1 - WIDE) * density + WIDE / (high - low)
    at = np.minimum(((places - low) / width).astype(np.int64), BINS - 1)
    return np.asarray(np.log(density[at]) - np.log1p(labels**2) / 2)


def _fit_mixture(residual: Floats, local: Floats, wrong: Floats) -> tuple[float, float, float, float]:
    """(loss, share of wrong labels, scale, degrees of freedom) of maximum likelihood."""
    start = np.log(np.median(np.abs(residual) / local) + 1e-9)

    def loss(parameters: Floats) -> float:
        share, scale, freedom = _parameters(parameters)
        right = student.logpdf(residual / (scale * local), freedom) - np.log(scale * local)
        total = np.logaddexp(np.log1p(-share) + right, np.log(share) + wrong).sum()
        prior = (1 + PRIOR_RIGHT * len(residual)) * np.log1p(-share) + np.log(share)
        return float(-total - prior)

    found = min(
        (
            minimize(loss, [level, start + lower, 1.0], method="Nelder-Mead", options={"maxiter": 200})
            for level, lower in ((-3.0, 0.0), (-0.5, -1.0))
        ),
        key=lambda result: float(result.fun),
    )
    return float(found.fun), *_parameters(found.x)


def _parameters(values: Floats) -> tuple[float, float, float]:
    """Share in (0, 0.6), scale, and degrees of freedom from 2 to 30."""
    share = 0.6 / (1 + np.exp(-np.clip(values[0], -12, 12)))
    return (
        float(share),
        float(np.exp(np.clip(values[1], -25, 12))),
        float(2 + np.exp(np.clip(values[2], -3, 3.3))),
    )


def _right(residual: Floats, spread: Floats, share: float, freedom: float, wrong: Floats) -> Floats:
    """[n]: probability of being right."""
    right = np.log1p(-share) + student.logpdf(residual / spread, freedom) - np.log(spread)
    return np.asarray(1 / (1 + np.exp(np.clip(np.log(share) + wrong - right, -500, 500))))


def _quantiles(residual: Floats, weights: Floats) -> tuple[float, float]:
    """Lower and upper end of the interval for residuals with these weights."""
    order = np.argsort(residual)
    ranks = np.cumsum(weights[order])
    ends = np.array([(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]) * ranks[-1]
    low, high = residual[order][np.minimum(np.searchsorted(ranks, ends), len(order) - 1)]
    return float(low), float(high)
